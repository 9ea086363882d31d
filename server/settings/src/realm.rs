//! A realm: a chat of its own in a server, by its name and its host.

use std::str::FromStr;
use std::sync::Arc;

use http::uri::Authority;

/// The name of the first realm, if the settings give it no other.
pub const FIRST: &str = "main";

/// The largest number of realms besides the first.
pub const MAX_REALMS: usize = 32;

/// The largest number of characters of a name.
const MAX_NAME: usize = 32;

/// A realm besides the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Realm {
    /// Its name.
    pub name: Arc<str>,
    /// The host that names it, if there is one.
    pub host: Option<Authority>,
}

/// A host, with its port or without. The library takes any text for a port, such as that of
/// `localhost:1.example.org`, and a user before the host.
#[must_use]
pub fn host(text: &str) -> Option<Authority> {
    let host = Authority::from_str(text).ok()?;
    let rest = text.strip_prefix(host.host())?;
    let is_port = |port: &str| !port.starts_with('+') && port.parse::<u16>().is_ok();
    let is_plain = rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port);
    (is_plain && !host.host().is_empty() && !text.contains('*')).then_some(host)
}

/// Whether this is the name of a realm, or of a cluster's log.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=MAX_NAME).contains(&text.len()) && text.chars().all(fits)
}

/// What a realm is written as.
const FORM: &str = "write a name of 1 to 32 letters of a to z, digits and dashes, or a name and its \
                    host, as in arena=arena.example.org";

impl FromStr for Realm {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, host) = match text.split_once('=') {
            Some((name, host)) => (name, Some(host)),
            None => (text, None),
        };
        let host = host.map(|text| self::host(text).ok_or(FORM)).transpose()?;
        let name = Arc::from(name);
        is_name(&name).then_some(Self { name, host }).ok_or(FORM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_realm_has_a_plain_name_and_may_have_a_host() {
        let realm = |text: &str| text.parse::<Realm>();
        assert_eq!(&*realm("arena-2").unwrap().name, "arena-2");
        let hosted = realm("arena=arena.example.org:8894").unwrap();
        assert_eq!(hosted.host.unwrap().as_str(), "arena.example.org:8894");
        for text in [
            "",
            "Arena",
            "a/b",
            "a.b",
            "a_b",
            "*",
            "a b",
            "ü",
            "a=",
            "a=b c",
            "a=u@h",
            "a=h:80.example.org",
            "a=h:65536",
            "=h",
            &"a".repeat(33),
        ] {
            assert_eq!(realm(text), Err(FORM), "{text}");
        }
    }
}

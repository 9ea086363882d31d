//! The address of a PostgreSQL server for the history.

use std::fmt;
use std::str::FromStr;

/// The address of a PostgreSQL server with a database for the history. It is shown without its
/// password.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl(String);

/// What an address looks like.
const FORM: &str = "write an address, as in postgres://chat@db.example.org/chat";

impl FromStr for ServerUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut schemes = ["postgres://", "postgresql://"].iter();
        if !schemes.any(|scheme| text.len() > scheme.len() && text.starts_with(scheme)) {
            return Err(FORM.into());
        }
        #[cfg(feature = "postgres")]
        if let Err(error) = text.parse::<tokio_postgres::Config>() {
            let why = std::error::Error::source(&error).map(ToString::to_string);
            let why = why.unwrap_or_else(|| error.to_string());
            return Err(format!("{FORM}: {why}"));
        }
        Ok(Self(text.into()))
    }
}

impl ServerUrl {
    /// The whole address, with its password.
    #[must_use]
    pub fn with_password(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, rest) = self.0.split_once("://").unwrap_or_default();
        // Parameters may have a password, too.
        let rest = rest.split('?').next().unwrap_or_default();
        match rest.rsplit_once('@') {
            Some((user, place)) => {
                let user = user.split(':').next().unwrap_or_default();
                write!(f, "{scheme}://{user}@{place}")
            }
            None => write!(f, "{scheme}://{rest}"),
        }
    }
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::ServerUrl;

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (text, shown) in [
            ("postgres://chat:se@cret@db/chat", "postgres://chat@db/chat"),
            (
                "postgresql://chat@db:5433/chat",
                "postgresql://chat@db:5433/chat",
            ),
            ("postgres:///chat?host=/run&password=x", "postgres:///chat"),
        ] {
            let url: ServerUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), shown);
            assert_eq!(format!("{url:?}"), shown);
        }
        for text in ["", "db", "postgres://", "mysql://db/chat"] {
            assert!(text.parse::<ServerUrl>().is_err(), "{text}");
        }
    }
}

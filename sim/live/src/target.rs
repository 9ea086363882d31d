//! The address of a live server, and the protocol.

use std::fmt;
use std::str::FromStr;

use hyper::header::HeaderValue;

chat_types::listed! {
    /// The protocol of a live run, with its name on the command line.
    #[derive(Default)]
    Protocol {
        /// MCP without sessions.
        #[default]
        Mcp20260728 "2026-07-28",
        /// MCP with sessions.
        Mcp20251125 "2025-11-25",
        /// Plain HTTP.
        Http "http",
    }
}

impl FromStr for Protocol {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::named(text).ok_or_else(|| "write 2026-07-28, 2025-11-25 or http".to_owned())
    }
}

/// The advice for a build without TLS.
const NO_TLS: &str = "this `sim` is built without TLS: build it with `cargo run --release -p sim \
                      --features tls -- …`, or install it with `--features tls`";

/// A server: `http://host:port` or `https://host:port`, and the path of its MCP endpoint if it is not `/mcp`.
/// Or the members of a cluster, with commas between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The given URL, or all of them.
    url: String,
    is_secure: bool,
    /// One for each server.
    doors: Vec<Door>,
    /// The path without a trailing slash; empty if there was none.
    path: String,
    token: Option<Token>,
}

/// Where one server of a target is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Door {
    /// `host:port` for connections.
    pub(super) address: String,
    /// The `Host` header.
    pub(super) host: HeaderValue,
}

impl Door {
    /// The host without its port, which a certificate must have.
    #[cfg_attr(not(feature = "tls"), expect(dead_code, reason = "only TLS asks"))]
    pub(super) fn name(&self) -> &str {
        let name = self.address.rsplit_once(':');
        let name = name.map_or(&*self.address, |(name, _)| name);
        name.trim_start_matches('[').trim_end_matches(']')
    }
}

/// A bearer token (RFC 6750): the whole header, excluded from logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token(HeaderValue);

impl FromStr for Token {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let token = text.trim();
        if token.is_empty() || token.contains(|c: char| !c.is_ascii_graphic()) {
            return Err("a token is one word of visible ASCII".to_owned());
        }
        let mut header = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| "that can stand in no header".to_owned())?;
        header.set_sensitive(true);
        Ok(Self(header))
    }
}

impl Target {
    /// Adds a token.
    #[must_use]
    pub fn with(self, token: Option<Token>) -> Self {
        Self { token, ..self }
    }

    /// The `Authorization` header, if there is a token.
    #[must_use]
    pub fn authorization(&self) -> Option<&HeaderValue> {
        self.token.as_ref().map(|token| &token.0)
    }

    /// Where its servers are.
    #[must_use]
    pub fn doors(&self) -> &[Door] {
        &self.doors
    }

    /// Whether connections are secured by TLS.
    #[must_use]
    pub const fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// The path of MCP.
    #[must_use]
    pub fn mcp_path(&self) -> &str {
        if self.path.is_empty() {
            "/mcp"
        } else {
            &self.path
        }
    }

    /// The path of an HTTP route, which stands beside that of MCP.
    #[must_use]
    pub fn http_path(&self, route: &str) -> String {
        let base = self.path.strip_suffix("/mcp").unwrap_or(&self.path);
        format!("{base}{route}")
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut servers = text.split(',').map(Self::one);
        let mut target = servers.next().unwrap_or_else(|| Self::one(""))?;
        for server in servers {
            let server = server?;
            if (server.is_secure, &server.path) != (target.is_secure, &target.path) {
                return Err("the servers of a target have one scheme and one path".to_owned());
            }
            target.url = format!("{},{}", target.url, server.url);
            target.doors.extend(server.doors);
        }
        Ok(target)
    }
}

impl Target {
    /// A target with one server.
    fn one(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| Err(format!("{why}; write http://127.0.0.1:8894"));
        let Some((scheme, rest)) = text.split_once("://") else {
            return wrong("that is no URL");
        };
        let (is_secure, port) = match scheme.to_ascii_lowercase().as_str() {
            "http" => (false, 80),
            "https" if cfg!(feature = "tls") => (true, 443),
            "https" => return Err(NO_TLS.to_owned()),
            _ => return wrong("the scheme must be http or https"),
        };
        let (host, path) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, ""),
        };
        if host.is_empty() || host.contains(['@', '?', '#', ' ']) {
            return wrong("that names no host");
        }
        if path.contains(['?', '#', ' ']) {
            return wrong("a target has no query");
        }
        let bare = host.rsplit(']').next().unwrap_or(host);
        let address = match bare.rsplit_once(':') {
            Some((_, port)) if port.parse::<u16>().is_ok() => host.to_owned(),
            Some(_) => return wrong("the port must be a number up to 65535"),
            None => format!("{host}:{port}"),
        };
        let Ok(host) = HeaderValue::from_str(host) else {
            return wrong("that names no host");
        };
        Ok(Self {
            url: text.trim_end_matches('/').to_owned(),
            is_secure,
            doors: vec![Door { address, host }],
            path: path.trim_end_matches('/').to_owned(),
            token: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mcp_path_has_a_default() {
        let of = |text: &str| text.parse::<Target>().unwrap();
        assert_eq!(of("http://127.0.0.1:8894").mcp_path(), "/mcp");
        assert_eq!(of("http://127.0.0.1:8894/").mcp_path(), "/mcp");
        assert_eq!(of("http://chat.example.org/x/mcp").mcp_path(), "/x/mcp");
        assert_eq!(
            of("http://chat.example.org").doors[0].address,
            "chat.example.org:80"
        );
        assert_eq!(of("http://[::1]:9000/").doors[0].address, "[::1]:9000");
        assert_eq!(of("http://[::1]").doors[0].address, "[::1]:80");
        assert_eq!(of("http://h:1/a/").http_path("/send"), "/a/send");
    }

    #[test]
    fn the_members_of_a_cluster_are_one_target() {
        let target: Target = "http://a:1/x/,http://b/x".parse().unwrap();
        let addresses: Vec<_> = target.doors.iter().map(|door| &*door.address).collect();
        assert_eq!(addresses, ["a:1", "b:80"]);
        assert_eq!(target.doors[1].host, "b");
        assert_eq!(target.to_string(), "http://a:1/x,http://b/x");
        for (text, why) in [
            ("http://a,http://b/x", "one path"),
            ("http://a,", "no URL"),
            ("http://a,b", "no URL"),
        ] {
            let error = text.parse::<Target>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    #[cfg(feature = "tls")]
    fn https_has_its_own_port_and_the_certificate_has_the_name() {
        let of = |text: &str| text.parse::<Target>().unwrap();
        let target = of("https://chat.example.org/x/mcp");
        assert_eq!(target.doors[0].address, "chat.example.org:443");
        assert_eq!(target.doors[0].name(), "chat.example.org");
        assert!(target.is_secure());
        assert_eq!(of("https://[::1]:9000").doors[0].name(), "::1");
        assert!(!of("http://h:443").is_secure());
    }

    #[test]
    #[cfg(not(feature = "tls"))]
    fn a_build_without_tls_says_how_to_build_with_it() {
        let error = "https://h".parse::<Target>().unwrap_err();
        assert!(error.contains("--features tls"), "{error}");
    }

    #[test]
    fn a_token_is_one_word_and_is_never_printed() {
        let token: Token = " s3same\n".parse().unwrap();
        assert!(!format!("{token:?}").contains("s3same"));
        let target: Target = "http://h".parse().unwrap();
        assert_eq!(target.authorization(), None);
        let target = target.with(Some(token));
        assert_eq!(target.authorization().unwrap(), "Bearer s3same");
        assert!(!format!("{target:?} {target}").contains("s3same"));
        for wrong in ["", " ", "two words", "söme"] {
            assert!(wrong.parse::<Token>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn an_invalid_target_is_refused_with_a_reason() {
        for (text, why) in [
            ("127.0.0.1:8894", "no URL"),
            ("ftp://x", "scheme"),
            ("http://", "no host"),
            ("http://x:port", "port"),
            ("http://x/?a=b", "query"),
        ] {
            let error = text.parse::<Target>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}

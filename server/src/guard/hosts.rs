//! The hosts that the server answers for, and the hosts whose pages may call it.
//!
//! A page of any site can make its visitor's browser send requests to a server on the visitor's own
//! machine. Two checks prevent that. The Origin header names the page's site, which must be an
//! allowed host. And if the site's name resolves to the server's address (DNS rebinding), the Host
//! header still contains that name, which is not allowed. A page cannot know a token, and its browser
//! sends no cookie to a name that set none; so a request with a valid token may name any host, as a
//! monitor does that finds the server by its address.
//!
//! A browser sends no Origin for images, forms and links. Its Sec-Fetch-Site header (W3C Fetch
//! Metadata) names the relation of the initiator. Only the server's own page and its user may cause
//! a request; links of other sites may only lead to the page's files.

use std::net::IpAddr;

use axum::http::header::{HOST, HeaderMap, HeaderValue, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{Uri, header};
use server_settings::realm;

use super::http_error::Fault;

/// The header that names the relation of the initiator.
const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// The largest number of allowed hosts.
const MAX_HOSTS: usize = 256;

/// The hosts that the server answers for: this machine by its loopback names, and those allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedHosts {
    more: Vec<Authority>,
}

impl AllowedHosts {
    /// Allows the loopback names and these: each a host, or a host with a port.
    ///
    /// # Errors
    /// The first invalid host.
    pub fn new<T: AsRef<str>>(more: &[T]) -> Result<Self, String> {
        if more.len() > MAX_HOSTS {
            return Err(format!("at most {MAX_HOSTS} hosts can be allowed"));
        }
        let host = |text: &T| {
            let text = text.as_ref().trim();
            realm::host(text).ok_or_else(|| {
                let how = "write example.org, or example.org:8894 for that port alone";
                format!("`{text}` is no host: {how}")
            })
        };
        let more = more.iter().map(host).collect::<Result<_, _>>()?;
        Ok(Self { more })
    }

    /// Whether a request for this host and port is answered.
    fn allows(&self, authority: &Authority) -> bool {
        if realm::host(authority.as_str()).is_none() {
            return false;
        }
        let host = authority.host();
        let named = |allowed: &Authority| {
            allowed.host().eq_ignore_ascii_case(host)
                && (allowed.port().is_none() || allowed.port_u16() == authority.port_u16())
        };
        is_loopback(host) || self.more.iter().any(named)
    }

    /// Checks the requested host.
    pub(super) fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Fault> {
        let host = only(headers, HOST).flatten().and_then(authority);
        let host = host.ok_or(Fault::HostUnclear)?;
        // A request line with an absolute URI names a host, too.
        let mut named = uri.authority().into_iter().chain([&host]);
        match named.all(|host| self.allows(host)) {
            true => Ok(()),
            false => Err(Fault::HostNotAllowed),
        }
    }

    /// Checks the origin of the request.
    pub(super) fn check_origin(&self, headers: &HeaderMap) -> Result<(), Fault> {
        let allows = |origin| origin_authority(origin).is_some_and(|host| self.allows(&host));
        match only(headers, ORIGIN) {
            Some(origin) if origin.is_none_or(allows) => Ok(()),
            Some(_) | None => Err(Fault::OriginNotAllowed),
        }
    }

    /// Checks that no other site caused the request, as far as the browser reports it.
    pub(super) fn check_site(headers: &HeaderMap) -> Result<(), Fault> {
        let mut all = headers.get_all(SEC_FETCH_SITE).iter();
        match all.all(|value| matches!(value.as_bytes(), b"same-origin" | b"none")) {
            true => Ok(()),
            false => Err(Fault::SiteNotAllowed),
        }
    }
}

/// Whether the page was loaded over TLS, as a proxy in front provides.
pub(super) fn is_over_tls(headers: &HeaderMap) -> bool {
    let origin = headers.get(ORIGIN).and_then(|value| value.to_str().ok());
    origin.is_some_and(|text| text.starts_with("https://"))
}

/// The header's value; the outer option is none if there is no value, the inner one if there are
/// several.
#[expect(
    clippy::option_option,
    reason = "no value and too many values are different things to say"
)]
fn only(headers: &HeaderMap, name: header::HeaderName) -> Option<Option<&HeaderValue>> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    values.next().is_none().then_some(first)
}

fn authority(value: &HeaderValue) -> Option<Authority> {
    value.to_str().ok()?.parse().ok()
}

fn origin_authority(value: &HeaderValue) -> Option<Authority> {
    let text = value.to_str().ok()?;
    let rest = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"))?;
    rest.parse().ok()
}

fn is_loopback(host: &str) -> bool {
    if host.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(host);
    bare.parse::<IpAddr>()
        .is_ok_and(|ip| ip.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(allowed: &[&str], host: &[&str], origin: &[&str]) -> Result<(), Fault> {
        let mut headers = HeaderMap::new();
        for value in host {
            headers.append(HOST, value.parse().unwrap());
        }
        for value in origin {
            headers.append(ORIGIN, value.parse().unwrap());
        }
        let allowed = AllowedHosts::new(allowed).unwrap();
        allowed.check_host(&Uri::from_static("/users"), &headers)?;
        allowed.check_origin(&headers)
    }

    #[test]
    fn hosts_are_this_machine_s_names_and_those_allowed() {
        let allowed = ["chat.example", "port.example:8443"];
        let own = "localhost LOCALHOST:8894 127.0.0.1:8894 127.9.9.9 [::1]:8894 \
                   [::ffff:127.0.0.1] chat.example Chat.Example:1 port.example:8443";
        for host in own.split(' ') {
            assert_eq!(checked(&allowed, &[host], &[]), Ok(()), "{host}");
        }
        let others = "evil.example localhost.evil.example 127.0.0.1.evil.example \
                      evil.example:8894 10.0.0.1 [2001:db8::1] port.example port.example:80 \
                      localhost@evil.example evil@localhost chat.example. \
                      localhost:8894.evil.example 127.0.0.1:x [::1]:8894.evil.example \
                      localhost:+80 localhost:65536";
        for host in others.split(' ') {
            let refused = checked(&allowed, &[host], &[]);
            assert_eq!(refused, Err(Fault::HostNotAllowed), "{host}");
        }
        for unclear in [&[][..], &["localhost", "localhost"], &[""], &["a b"]] {
            let refused = checked(&allowed, unclear, &[]);
            assert_eq!(refused, Err(Fault::HostUnclear), "{unclear:?}");
        }
    }

    #[test]
    fn pages_of_allowed_hosts_may_call_and_others_may_not() {
        let with = |origin: &[&str]| checked(&["chat.example"], &["localhost:8894"], origin);
        for origin in [
            "http://localhost:3000",
            "https://chat.example",
            "http://127.0.0.1:8894",
            "http://[::1]",
        ] {
            assert_eq!(with(&[origin]), Ok(()), "{origin}");
        }
        for origin in [
            "null",
            "",
            "https://evil.example",
            "https://chat.example.evil.example",
            "http://localhost@evil.example",
            "file://localhost",
            "chrome-extension://localhost",
            "localhost",
            "http://localhost:8894.evil.example",
            "http://127.0.0.1:8894.evil.example",
            "http://[::1]:8894.evil.example",
            "http://localhost:",
        ] {
            assert_eq!(with(&[origin]), Err(Fault::OriginNotAllowed), "{origin}");
        }
        let twice = ["http://localhost", "http://localhost"];
        assert_eq!(with(&twice), Err(Fault::OriginNotAllowed));
    }

    #[test]
    fn only_the_server_s_own_page_and_the_user_may_cause_a_request() {
        let check = |all: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in all {
                headers.append(SEC_FETCH_SITE, HeaderValue::from_static(value));
            }
            AllowedHosts::check_site(&headers)
        };
        for own in [&[][..], &["same-origin"], &["none"]] {
            assert_eq!(check(own), Ok(()), "{own:?}");
        }
        for foreign in [
            &["cross-site"][..],
            &["same-site"],
            &["none", "cross-site"],
            &[""],
            &["new-word"],
        ] {
            assert_eq!(check(foreign), Err(Fault::SiteNotAllowed), "{foreign:?}");
        }
    }

    #[test]
    fn a_request_line_that_names_another_host_is_refused() {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("localhost"));
        let uri = Uri::from_static("http://evil.example/users");
        let refused = AllowedHosts::default().check_host(&uri, &headers);
        assert_eq!(refused, Err(Fault::HostNotAllowed));
    }

    #[test]
    fn a_malformed_host_cannot_be_allowed() {
        for text in [
            "",
            "*",
            "*.example",
            "a b",
            "http://a",
            "x@y",
            "a:b",
            "a:1.b",
        ] {
            let error = AllowedHosts::new(&[text]).unwrap_err();
            let named = format!("`{text}` is no host: ");
            assert!(error.starts_with(&named), "{error}");
        }
    }
}

//! The page's cookie: a bearer token that the browser keeps where no script can read it.
//!
//! `POST /session` with the token in the Authorization header sets it, `DELETE /session` clears
//! it. It is sent by pages of this very server alone: SameSite=Strict keeps other sites out, and
//! the door takes it from no page of another port.

use axum::extract::Extension;
use axum::http::StatusCode;
use axum::http::header::{COOKIE, HeaderMap, HeaderValue, SET_COOKIE};
use axum::response::{IntoResponse, Response};

use super::hosts::is_over_tls;
use super::refused::{Fault, Refused};
use super::{Caller, bearer};

/// The cookie's name.
const NAME: &str = "talking_stick_token";

/// The token that the page keeps.
pub(super) fn kept(headers: &HeaderMap) -> Option<&str> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|pairs| pairs.split(';'))
        .find_map(|pair| pair.trim().strip_prefix(NAME)?.strip_prefix('='))
}

/// Keeps the token that came with the request, if it is one of the server's: then the door knows
/// its owner's seat.
pub(super) async fn open(Extension(caller): Extension<Caller>, headers: HeaderMap) -> Response {
    let Some(token) = bearer(&headers) else {
        return Refused::from(Fault::TokenRequired).into_response();
    };
    if caller.seat.is_none() || !token.bytes().all(is_token_char) {
        return Refused::from(Fault::TokenUnknown).into_response();
    }
    answer(StatusCode::OK, &headers, token, "")
}

/// Forgets it.
pub(super) async fn close(headers: HeaderMap) -> Response {
    answer(StatusCode::OK, &headers, "", "; Max-Age=0")
}

/// The characters of a bearer token (RFC 6750, section 2.1); all of them may stand in a cookie.
const fn is_token_char(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=')
}

fn answer(status: StatusCode, headers: &HeaderMap, token: &str, age: &str) -> Response {
    let tls = if is_over_tls(headers) { "; Secure" } else { "" };
    let cookie = format!("{NAME}={token}; Path=/; HttpOnly; SameSite=Strict{tls}{age}");
    let mut response = super::refused::json(status, &serde_json::json!({ "success": true }));
    if let Ok(mut value) = HeaderValue::from_str(&cookie) {
        value.set_sensitive(true);
        response.headers_mut().insert(SET_COOKIE, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        assert_eq!(kept(&headers), None);
        headers.append(COOKIE, HeaderValue::from_static("theme=dark"));
        headers.append(
            COOKIE,
            HeaderValue::from_static("a=b; talking_stick_token=abc=; c=d"),
        );
        assert_eq!(kept(&headers), Some("abc="));
    }

    #[test]
    fn a_cookie_of_a_longer_name_is_another() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, HeaderValue::from_static("talking_stick_token2=abc"));
        assert_eq!(kept(&headers), None);
    }
}

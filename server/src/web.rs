//! The page for people: files that are embedded in the binary and served as they are.
//!
//! Nothing is built, and nothing is loaded from other sites. The page uses only this server's plain
//! HTTP, as programs do. Its policy forbids everything else: other scripts and styles, and text
//! that is parsed as HTML.

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::headers::listed;

/// The page's content security policy. Trusted Types remove every way to parse a text as HTML, so
/// that peers' words cannot become elements even by mistake.
const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'; object-src 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// The permissions that the page does not use, and so disables.
const PERMISSIONS: &str = "camera=(), geolocation=(), microphone=()";

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const IMAGE: &str = "image/svg+xml";

/// A file of the page: its path, its type, and its bytes.
type File = (&'static str, &'static str, &'static [u8]);

/// Generates the list of files whose paths are those below `web`.
macro_rules! files {
    ($($path:literal $kind:ident)*) => {
        &[
            ("/", HTML, include_bytes!("web/index.html")),
            // The page shows another view for this path.
            ("/operator", HTML, include_bytes!("web/index.html")),
            $(($path, $kind, include_bytes!(concat!("web", $path))),)*
        ]
    };
}

const FILES: &[File] = files! {
    "/style.css" STYLE
    "/icon.svg" IMAGE
    "/app.js" SCRIPT
    "/page/field.js" SCRIPT
    "/page/home.js" SCRIPT
    "/page/kept.js" SCRIPT
    "/page/log.js" SCRIPT
    "/page/operator.js" SCRIPT
    "/page/operator_view.js" SCRIPT
    "/page/parts.js" SCRIPT
    "/page/room.js" SCRIPT
    "/page/room_view.js" SCRIPT
    "/page/registration.js" SCRIPT
    "/page/server.js" SCRIPT
    "/page/speech.js" SCRIPT
    "/page/state.js" SCRIPT
    "/page/stream.js" SCRIPT
    "/preact/preact.mjs" SCRIPT
};

/// Whether this is a file of the page. These files reveal nothing about users, and are served
/// without a token, for which the page then asks.
#[must_use]
pub fn is_file(path: &str) -> bool {
    FILES.iter().any(|(served, _, _)| *served == path)
}

/// The page's routes.
pub fn router() -> Router {
    FILES.iter().fold(Router::new(), |router, file| {
        let (path, kind, bytes) = *file;
        let tag = tag(bytes);
        let serve = move |request: Request| {
            let response = serve(&request, kind, bytes, &tag);
            std::future::ready(response)
        };
        router.route(path, get(serve))
    })
}

/// The file, or the answer that the browser's copy is current. Browsers ask each time, so that a
/// new server never meets an old page.
fn serve(request: &Request, kind: &'static str, bytes: &'static [u8], tag: &str) -> Response {
    let mut response = if knows(request.headers(), tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        bytes.into_response()
    };
    let headers = response.headers_mut();
    for (name, value) in [
        ("content-type", kind),
        ("cache-control", "no-cache"),
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("permissions-policy", PERMISSIONS),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(tag) = HeaderValue::from_str(tag) {
        headers.insert(ETAG, tag);
    }
    response
}

/// The file's fingerprint as an entity tag (RFC 9110, section 8.8.3).
fn tag(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    format!("\"{}\"", URL_SAFE_NO_PAD.encode(&hash[..12]))
}

/// Whether the browser has this version of the file. Proxies that compress files mark their tags as
/// weak.
fn knows(headers: &HeaderMap, tag: &str) -> bool {
    listed(headers, IF_NONE_MATCH, ',').any(|one| one.trim_start_matches("W/") == tag || one == "*")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use axum::body::{Body, to_bytes};
    use tower::ServiceExt as _;

    use super::*;

    async fn get(path: &str, have: Option<&str>) -> Response {
        let mut request = Request::builder().uri(path);
        if let Some(tag) = have {
            request = request.header(IF_NONE_MATCH, tag);
        }
        let request = request.body(Body::empty()).unwrap();
        router().oneshot(request).await.unwrap()
    }

    fn header(response: &Response, name: &str) -> String {
        response.headers()[name].to_str().unwrap().to_owned()
    }

    #[tokio::test]
    async fn every_file_is_served_as_what_it_is_under_the_policy() {
        for (path, kind, bytes) in FILES {
            let response = get(path, None).await;
            assert_eq!(response.status(), StatusCode::OK, "{path}");
            assert_eq!(header(&response, "content-type"), *kind, "{path}");
            assert_eq!(header(&response, "content-security-policy"), POLICY);
            assert_eq!(header(&response, "x-content-type-options"), "nosniff");
            assert_eq!(header(&response, "referrer-policy"), "no-referrer");
            let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
            assert_eq!(body, *bytes, "{path}");
        }
    }

    #[tokio::test]
    async fn a_file_that_the_browser_has_is_not_sent_again() {
        let tag = header(&get("/app.js", None).await, "etag");
        for have in [tag.clone(), format!("W/{tag}"), format!("\"x\", {tag}")] {
            let response = get("/app.js", Some(&have)).await;
            assert_eq!(response.status(), StatusCode::NOT_MODIFIED, "{have}");
            let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
            assert!(body.is_empty());
        }
        let other = get("/style.css", Some(&tag)).await;
        assert_eq!(other.status(), StatusCode::OK);
    }

    /// Every file that a program imports or the page names is served.
    #[test]
    fn what_files_name_is_there() {
        let served: BTreeSet<_> = FILES.iter().map(|(path, _, _)| *path).collect();
        for (path, _, bytes) in FILES {
            let text = std::str::from_utf8(bytes).unwrap();
            for line in text.lines().filter(|line| line.starts_with("import ")) {
                let named = line.split('\'').nth(1).unwrap();
                assert!(served.contains(named), "{path} imports {named}");
            }
        }
        for named in ["/app.js", "/style.css", "/icon.svg"] {
            let page = include_str!("web/index.html");
            assert!(page.contains(&format!("\"{named}\"")), "{named}");
        }
    }

    /// The policy forbids inline scripts and styles, so the page would not work.
    #[test]
    fn no_script_or_style_stands_in_the_page() {
        let page = include_str!("web/index.html");
        assert!(!page.contains("<style") && !page.contains(" style="));
        assert!(!page.contains(" onclick") && !page.contains(" onload"));
        for script in page.split("<script").skip(1) {
            assert!(script.contains(" src=\"/"), "{script}");
            assert!(script.contains("></script>"), "{script}");
        }
    }

    #[test]
    fn the_library_is_the_one_that_was_published() {
        let hash = Sha256::digest(include_bytes!("web/preact/preact.mjs"));
        let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let readme = include_str!("web/preact/README.md");
        assert!(readme.contains(&hash), "web/preact/README.md names another");
    }
}

//! What headers of requests say.

use axum::http::header::{HeaderMap, HeaderName};

/// Whether a media type is this one, whatever its parameters are.
pub(crate) fn is_of_type(kind: &str, essence: &str) -> bool {
    let found = kind.split(';').next().unwrap_or_default();
    found.trim().eq_ignore_ascii_case(essence)
}

/// The elements of all headers of a name, each of which is a list.
pub(crate) fn listed(
    headers: &HeaderMap,
    name: HeaderName,
    separator: char,
) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).iter();
    let lists = values.filter_map(|value| value.to_str().ok());
    lists.flat_map(move |list| list.split(separator).map(str::trim))
}

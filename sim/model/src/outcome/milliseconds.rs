//! A span as a number of milliseconds in JSON.

use std::time::Duration;

use chat_types::Span;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub(super) fn serialize<S: Serializer>(span: &Span, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(span.0 as f64 / 1_000.0)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Span, D::Error> {
    let span = Duration::try_from_secs_f64(f64::deserialize(from)? / 1_000.0);
    let micros = span.map_err(D::Error::custom)?.as_micros();
    u64::try_from(micros).map(Span).map_err(D::Error::custom)
}

//! The configuration of the server: every limit and every duration, with its default.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Span;

/// How waiting participants are paired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Matching {
    /// The longest waiter is next.
    #[default]
    Fifo,
    /// A random waiter is next, each with the same probability.
    Random,
    /// The waiter with the most shared interests is next; any waiter once `interest_patience` is
    /// over.
    Interests,
}

/// Whether members of a named room need the talking stick to speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StickRule {
    /// Only the holder speaks.
    #[default]
    Required,
    /// The stick may be claimed, but anyone may speak.
    Optional,
}

/// A number, or no limit. Written `200` or `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most this many.
    At(u32),
    /// No limit.
    None,
}

/// A token bucket, with an average rate and a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// Calls a second, on average.
    pub per_second: u32,
    /// Calls at once, when the bucket is full.
    pub burst: u32,
}

/// A token bucket, or none: written `{ per_second: 20, burst: 60 }` or `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateLimit {
    /// Calls beyond the bucket are refused as `rate_limited`.
    Bucket(Bucket),
    /// No limit.
    None,
}

/// The operator's configuration. Every limit names the reject, or the gap, that it leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How waiting participants are paired.
    pub matching: Matching,
    /// Under `interests`: how long a waiter accepts only partners with a shared interest.
    pub interest_patience: Span,
    /// How long a participant stays present after a call.
    pub idle_timeout: Span,
    /// How long a participant stays present whose handle was never used.
    pub unused_timeout: Span,
    /// How long a participant stays present after the last stream closed.
    pub reconnect_grace: Span,
    /// How long an absent participant stays registered; then its handle is unknown.
    pub forget_after: Span,
    /// Whether members of named rooms need the stick to speak.
    pub stick: StickRule,
    /// How long one grant of the stick lasts.
    pub stick_lease: Span,
    /// Messages after which a pair room ends.
    pub turn_limit: Limit,
    /// Registered participants; beyond it the one that is away longest is replaced, or
    /// `server_full`.
    pub max_participants: u32,
    /// Participants registered from one address; beyond it the one of them that is away longest is
    /// replaced, or `address_full`.
    pub max_per_address: u32,
    /// Rooms, including ended ones that are still remembered; beyond it `server_full`.
    pub max_rooms: u32,
    /// Waiting participants; beyond it `queue_full`.
    pub max_queue: u32,
    /// Members of one room; beyond it the one that is away longest is replaced, or `room_full`.
    pub max_members: u32,
    /// Rooms that one participant is in; beyond it `room_full`.
    pub max_rooms_each: u32,
    /// Ended rooms that one participant may still name and receive `chat_ended`; then
    /// `room_not_found`.
    pub max_ended_rooms: u32,
    /// Events kept in one inbox; beyond it the oldest are dropped, and a `gap` says so.
    pub inbox_limit: u32,
    /// Messages of one room that `history` shows; the oldest are dropped first.
    pub history_limit: u32,
    /// Characters of one message; beyond it `message_too_long`.
    pub max_message: u32,
    /// Characters of one draft; beyond it `draft_full`.
    pub max_draft: u32,
    /// Characters that one `append` adds; the rest is cut, and the answer says so.
    pub max_append: u32,
    /// Interests that one participant may state; beyond it `invalid_arguments`.
    pub max_interests: u32,
    /// Participants that one may block; beyond it `invalid_arguments`.
    pub max_blocks: u32,
    /// Reports kept for the operator; the oldest are dropped first.
    pub max_reports: u32,
    /// Reports kept from the participants of one address; beyond it `invalid_arguments`.
    pub max_reports_per_address: u32,
    /// Names, handles and addresses kept as banned or muted; beyond it `invalid_arguments`.
    pub max_bans: u32,
    /// Request keys remembered for each participant; the oldest are dropped first.
    pub remembered_keys: u32,
    /// Streams that one participant may hold open; beyond it `rate_limited`.
    pub max_streams: u32,
    /// Events in one answer; `more` says that there are others.
    pub max_answer: u32,
    /// Bytes of texts in one answer, except that the first event may have any length; `more` says
    /// that there are others.
    pub max_answer_bytes: u32,
    /// The longest that a `check` waits.
    pub max_wait: Span,
    /// The percentage of breaks that raise the boss's alert level: 0 for none, 100 for all.
    pub boss_alertness: u32,
    /// The time in which the boss's alert level falls by one; 0 means one second.
    pub boss_alertness_cooldown: Span,
    /// Characters of one excuse; beyond it `invalid_arguments`.
    pub max_excuse: u32,
    /// Breaks whose answers are delayed, or may be; beyond it `overloaded`.
    pub max_held: u32,
    /// Calls of one participant; beyond it `rate_limited`.
    pub rate_limit: RateLimit,
    /// Calls from one address; beyond it `rate_limited`.
    pub address_rate_limit: RateLimit,
    /// Registrations from one address, including refused ones; beyond it `rate_limited`.
    pub registration_rate_limit: RateLimit,
    /// Commands that wait for the journal; beyond it `overloaded`.
    pub max_pending: u32,
    /// Commands that are appended to the journal in one batch.
    pub max_batch: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            matching: Matching::Fifo,
            interest_patience: Span::secs(10),
            idle_timeout: Span::secs(300),
            unused_timeout: Span::secs(60),
            reconnect_grace: Span::secs(60),
            forget_after: Span::secs(86_400),
            stick: StickRule::Required,
            stick_lease: Span::secs(120),
            turn_limit: Limit::At(200),
            max_participants: 1_000_000,
            max_per_address: 64,
            max_rooms: 2_000_000,
            max_queue: 100_000,
            max_members: 256,
            max_rooms_each: 16,
            max_ended_rooms: 4,
            inbox_limit: 1_000,
            history_limit: 200,
            max_message: 4_000,
            max_draft: 4_000,
            max_append: 200,
            max_interests: 16,
            max_blocks: 256,
            max_reports: 10_000,
            max_reports_per_address: 100,
            max_bans: 10_000,
            remembered_keys: 128,
            max_streams: 8,
            max_answer: 100,
            max_answer_bytes: 20_480,
            max_wait: Span::secs(50),
            boss_alertness: 50,
            boss_alertness_cooldown: Span::secs(300),
            max_excuse: 200,
            max_held: 65_536,
            rate_limit: RateLimit::Bucket(Bucket {
                per_second: 20,
                burst: 60,
            }),
            address_rate_limit: RateLimit::None,
            registration_rate_limit: RateLimit::Bucket(Bucket {
                per_second: 2,
                burst: 100,
            }),
            max_pending: 65_536,
            max_batch: 1_024,
        }
    }
}

/// A value of the configuration that is out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} must be {accepted}, not {found}")]
pub struct ConfigError {
    /// The key at fault.
    pub key: &'static str,
    /// The accepted values.
    pub accepted: String,
    /// The given value.
    pub found: String,
}

impl Config {
    /// Checks that every value is in its range.
    ///
    /// # Errors
    /// The first key whose value is not, with the accepted values.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_counts()?;
        self.check_spans()?;
        for (key, limit) in [
            ("rate_limit", self.rate_limit),
            ("address_rate_limit", self.address_rate_limit),
            ("registration_rate_limit", self.registration_rate_limit),
        ] {
            if let RateLimit::Bucket(Bucket { per_second, burst }) = limit
                && (per_second == 0 || per_second > 1_000_000 || burst == 0 || burst > 1_000_000)
            {
                return Err(ConfigError {
                    key,
                    accepted: "none, or { per_second, burst } from 1 to 1000000 each".into(),
                    found: limit.to_string(),
                });
            }
        }
        if self.turn_limit == Limit::At(0) {
            return Err(ConfigError {
                key: "turn_limit",
                accepted: "none, or 1 and more".into(),
                found: "0".into(),
            });
        }
        Ok(())
    }

    fn check_counts(&self) -> Result<(), ConfigError> {
        for (key, value, least, most) in [
            ("max_participants", self.max_participants, 1, 100_000_000),
            ("max_per_address", self.max_per_address, 1, 100_000_000),
            ("max_rooms", self.max_rooms, 1, 200_000_000),
            ("max_queue", self.max_queue, 1, 100_000_000),
            ("max_members", self.max_members, 2, 65_536),
            ("max_rooms_each", self.max_rooms_each, 1, 1_024),
            ("max_ended_rooms", self.max_ended_rooms, 1, 1_024),
            ("inbox_limit", self.inbox_limit, 2, 1_000_000),
            ("history_limit", self.history_limit, 1, 1_000_000),
            ("max_message", self.max_message, 1, 1_000_000),
            ("max_draft", self.max_draft, 1, 1_000_000),
            ("max_append", self.max_append, 1, 1_000_000),
            ("max_interests", self.max_interests, 1, 1_024),
            ("max_blocks", self.max_blocks, 1, 65_536),
            ("max_reports", self.max_reports, 1, 10_000_000),
            (
                "max_reports_per_address",
                self.max_reports_per_address,
                1,
                10_000_000,
            ),
            ("max_bans", self.max_bans, 1, 10_000_000),
            ("remembered_keys", self.remembered_keys, 1, 65_536),
            ("max_streams", self.max_streams, 1, 1_024),
            ("max_answer", self.max_answer, 1, 100_000),
            ("max_answer_bytes", self.max_answer_bytes, 1, 100_000_000),
            ("boss_alertness", self.boss_alertness, 0, 100),
            ("max_excuse", self.max_excuse, 1, 4_000),
            ("max_held", self.max_held, 1, 10_000_000),
            ("max_pending", self.max_pending, 1, 10_000_000),
            ("max_batch", self.max_batch, 1, 10_000_000),
        ] {
            if value < least || value > most {
                return Err(ConfigError {
                    key,
                    accepted: format!("{least} to {most}"),
                    found: value.to_string(),
                });
            }
        }
        Ok(())
    }

    fn check_spans(&self) -> Result<(), ConfigError> {
        let (tick, year) = (Span::millis(1), Span::secs(365 * 86_400));
        for (key, value, least) in [
            ("interest_patience", self.interest_patience, Span::ZERO),
            ("idle_timeout", self.idle_timeout, tick),
            ("unused_timeout", self.unused_timeout, tick),
            ("reconnect_grace", self.reconnect_grace, tick),
            ("forget_after", self.forget_after, tick),
            ("stick_lease", self.stick_lease, tick),
            ("max_wait", self.max_wait, Span::ZERO),
            (
                "boss_alertness_cooldown",
                self.boss_alertness_cooldown,
                Span::ZERO,
            ),
        ] {
            if value < least || value > year {
                return Err(ConfigError {
                    key,
                    accepted: format!("{least} to {year}"),
                    found: value.to_string(),
                });
            }
        }
        Ok(())
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(n) => write!(f, "{n}"),
            Self::None => f.write_str("none"),
        }
    }
}

impl fmt::Display for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bucket(Bucket { per_second, burst }) => {
                write!(f, "{{ per_second: {per_second}, burst: {burst} }}")
            }
            Self::None => f.write_str("none"),
        }
    }
}

/// The written form of a value or `none`. Formats for machines serialise an option instead.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
enum OrNone<T> {
    Value(T),
    None(NoLimit),
}

#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum NoLimit {
    None,
}

fn write_or_none<T: Serialize, S: Serializer>(value: Option<T>, s: S) -> Result<S::Ok, S::Error> {
    if !s.is_human_readable() {
        return value.serialize(s);
    }
    value
        .map_or(OrNone::None(NoLimit::None), OrNone::Value)
        .serialize(s)
}

fn read_or_none<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    d: D,
    accepted: &str,
) -> Result<Option<T>, D::Error> {
    if !d.is_human_readable() {
        return Option::deserialize(d);
    }
    match OrNone::deserialize(d) {
        Ok(OrNone::Value(value)) => Ok(Some(value)),
        Ok(OrNone::None(NoLimit::None)) => Ok(None),
        Err(_) => Err(serde::de::Error::custom(format!("expected {accepted}"))),
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        write_or_none(
            if let Self::At(n) = self {
                Some(n)
            } else {
                None
            },
            s,
        )
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(read_or_none(d, "a whole number or none")?.map_or(Self::None, Self::At))
    }
}

impl Serialize for RateLimit {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        write_or_none(
            if let Self::Bucket(b) = self {
                Some(b)
            } else {
                None
            },
            s,
        )
    }
}

impl<'de> Deserialize<'de> for RateLimit {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(read_or_none(d, "{ per_second, burst } or none")?.map_or(Self::None, Self::Bucket))
    }
}

#[cfg(feature = "schema")]
mod schema {
    use super::{Bucket, Limit, OrNone, RateLimit};
    use schemars::{JsonSchema, Schema, SchemaGenerator};

    impl JsonSchema for Limit {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Limit".into()
        }
        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            OrNone::<u32>::json_schema(generator)
        }
    }

    impl JsonSchema for RateLimit {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "RateLimit".into()
        }
        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            OrNone::<Bucket>::json_schema(generator)
        }
    }
}

//! The configuration of the server: every limit and every duration, with its default.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Span;

/// Declares a fixed list of words for a key, each with a description.
macro_rules! words {
    ($(#[doc = $about:literal])* $name:ident { $(#[doc = $doc:literal] $variant:ident $word:literal,)* }) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name { $(#[doc = $doc] #[serde(rename = $word)] $variant,)* }

        impl $name {
            const WORDS: &'static [(&'static str, &'static str)] = &[$(($word, $doc)),*];
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $word),* })
            }
        }

        /// The parser accepts only words of the list.
        impl Setting for $name {
            fn fits(&self, takes: Takes) -> bool {
                matches!(takes, Takes::Word(_))
            }
        }
    };
}

words! {
    /// How waiting participants are paired.
    Matching {
        /// The longest waiter is next.
        Fifo "fifo",
        /// A random waiter is next, each with the same probability.
        Random "random",
        /// The waiter with the most shared interests is next; any waiter once `interest_patience` is over.
        Interests "interests",
    }
}

words! {
    /// Whether members of a named room need the talking stick to speak.
    StickRule {
        /// Only the holder speaks.
        Required "required",
        /// The stick may be claimed, but anyone may speak.
        Optional "optional",
    }
}

/// A limit, or none. Written `200` or `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit<T = u32> {
    /// At most this.
    At(T),
    /// No limit.
    None,
}

/// A token bucket, with an average rate and a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// Calls a second, on average.
    pub per_second: u32,
    /// Calls at once, when the bucket is full.
    pub burst: u32,
}

/// A token bucket, or none: written `{ per_second: 20, burst: 60 }` or `none`. Calls beyond the
/// bucket are refused as `rate_limited`.
pub type RateLimit = Limit<Bucket>;

/// The kind of value of a key.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// One of these words, each with a description.
    Word(&'static [(&'static str, &'static str)]),
    /// A whole number in this inclusive range.
    Count(u32, u32),
    /// A duration from this one to a year.
    Time(Span),
    /// A number from 1, or `none`.
    Limit,
    /// A token bucket with numbers from 1 to [`MOST_RATE`], or `none`.
    Rate,
}

/// The largest rate and burst of a token bucket.
pub const MOST_RATE: u32 = 1_000_000;
const TICK: Span = Span::millis(1);
const YEAR: Span = Span::secs(365 * 86_400);

/// A key of the configuration.
#[derive(Clone, Copy, Debug)]
pub struct ConfigKey {
    /// The name.
    pub name: &'static str,
    /// The description, in one or two sentences.
    pub about: &'static str,
    /// Its values.
    pub takes: Takes,
}

/// Generates the configuration from its table: each row has a key, its type, its default and its
/// kind of value.
macro_rules! config {
    ($($(#[doc = $doc:literal])+ $key:ident: $type:ty = $usual:expr, $takes:expr;)*) => {
        /// The operator's configuration. Every limit names the reject, or the gap, that it leads to.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Config { $($(#[doc = $doc])+ pub $key: $type,)* }

        impl Default for Config {
            fn default() -> Self {
                Self { $($key: $usual,)* }
            }
        }

        impl Config {
            /// All keys.
            pub const KEYS: &'static [ConfigKey] = &[$(ConfigKey {
                name: stringify!($key),
                about: concat!($($doc),+),
                takes: $takes,
            },)*];

            /// Checks that every value is in its range.
            ///
            /// # Errors
            /// The first key whose value is not, with the accepted values.
            pub fn check(&self) -> Result<(), ConfigError> {
                $(check(stringify!($key), &self.$key, $takes)?;)*
                Ok(())
            }
        }
    };
}

config! {
    /// How waiting participants are paired.
    matching: Matching = Matching::Fifo, Takes::Word(Matching::WORDS);
    /// Under `interests`: how long a waiter accepts only partners with a shared interest.
    interest_patience: Span = Span::secs(10), Takes::Time(Span::ZERO);
    /// How long a participant stays present after a call.
    idle_timeout: Span = Span::secs(2_700), Takes::Time(TICK);
    /// How long a participant stays present after a call while it waits for a partner, at most
    /// `idle_timeout`.
    queue_timeout: Span = Span::secs(60), Takes::Time(TICK);
    /// How long a participant stays present whose handle was never used.
    unused_timeout: Span = Span::secs(60), Takes::Time(TICK);
    /// How long a participant stays present after the last stream closed.
    reconnect_grace: Span = Span::secs(60), Takes::Time(TICK);
    /// How long an absent participant stays registered; then its handle is unknown.
    forget_after: Span = Span::secs(86_400), Takes::Time(TICK);
    /// Whether members of named rooms need the stick to speak.
    stick: StickRule = StickRule::Required, Takes::Word(StickRule::WORDS);
    /// How long one grant of the stick lasts.
    stick_lease: Span = Span::secs(120), Takes::Time(TICK);
    /// Messages after which a pair room ends.
    turn_limit: Limit = Limit::At(200), Takes::Limit;
    /// Registered participants; beyond it the one that is away longest is replaced, or
    /// `server_full`.
    max_participants: u32 = 1_000_000, Takes::Count(1, 100_000_000);
    /// Participants registered from one address; beyond it the one of them that is away longest is
    /// replaced, or `address_full`.
    max_per_address: u32 = 64, Takes::Count(1, 100_000_000);
    /// Rooms, including ended ones that are still remembered; beyond it `server_full`.
    max_rooms: u32 = 2_000_000, Takes::Count(1, 200_000_000);
    /// Waiting participants; beyond it `queue_full`.
    max_queue: u32 = 100_000, Takes::Count(1, 100_000_000);
    /// Members of one room; beyond it the one that is away longest is replaced, or `room_full`.
    max_members: u32 = 256, Takes::Count(2, 65_536);
    /// Rooms that one participant is in; beyond it `room_full`.
    max_rooms_each: u32 = 16, Takes::Count(1, 1_024);
    /// Ended rooms that one participant may still name and receive `chat_ended`; then
    /// `room_not_found`.
    max_ended_rooms: u32 = 4, Takes::Count(1, 1_024);
    /// Events kept in one inbox; beyond it the oldest are dropped, and a `gap` says so.
    inbox_limit: u32 = 1_000, Takes::Count(2, 1_000_000);
    /// Messages of one room that `history` shows; the oldest are dropped first.
    history_limit: u32 = 200, Takes::Count(1, 1_000_000);
    /// Characters of one message; beyond it `message_too_long`.
    max_message: u32 = 4_000, Takes::Count(1, 1_000_000);
    /// Characters of one draft; beyond it `draft_full`.
    max_draft: u32 = 4_000, Takes::Count(1, 1_000_000);
    /// Characters that one `append` adds; the rest is cut, and the answer says so.
    max_append: u32 = 200, Takes::Count(1, 1_000_000);
    /// Interests that one participant may state; beyond it `invalid_arguments`.
    max_interests: u32 = 16, Takes::Count(1, 1_024);
    /// Participants that one may block; beyond it `invalid_arguments`.
    max_blocks: u32 = 256, Takes::Count(1, 65_536);
    /// Reports kept for the operator; the oldest are dropped first.
    max_reports: u32 = 10_000, Takes::Count(1, 10_000_000);
    /// Reports kept from the participants of one address; beyond it `invalid_arguments`.
    max_reports_per_address: u32 = 100, Takes::Count(1, 10_000_000);
    /// Names, handles and addresses kept as banned or muted; beyond it `invalid_arguments`.
    max_bans: u32 = 10_000, Takes::Count(1, 10_000_000);
    /// Request keys remembered for each participant; the oldest are dropped first.
    remembered_keys: u32 = 128, Takes::Count(1, 65_536);
    /// Streams that one participant may hold open; beyond it `rate_limited`.
    max_streams: u32 = 8, Takes::Count(1, 1_024);
    /// Events in one answer; `more` says that there are others.
    max_answer: u32 = 100, Takes::Count(1, 100_000);
    /// Bytes of texts in one answer, except that the first event may have any length; `more` says
    /// that there are others.
    max_answer_bytes: u32 = 20_480, Takes::Count(1, 100_000_000);
    /// The longest that a `check` waits.
    max_wait: Span = Span::secs(50), Takes::Time(Span::ZERO);
    /// The percentage of breaks that raise the boss's alert level: 0 for none, 100 for all.
    boss_alertness: u32 = 50, Takes::Count(0, 100);
    /// The time in which the boss's alert level falls by one; 0 means one second.
    boss_alertness_cooldown: Span = Span::secs(300), Takes::Time(Span::ZERO);
    /// Characters of one excuse; beyond it `invalid_arguments`.
    max_excuse: u32 = 200, Takes::Count(1, 4_000);
    /// Breaks whose answers are delayed, or may be; beyond it `overloaded`.
    max_held: u32 = 65_536, Takes::Count(1, 10_000_000);
    /// Breaks of one participant whose answers are delayed, or may be; beyond it `rate_limited`.
    max_held_each: u32 = 16, Takes::Count(1, 65_536);
    /// Calls of one participant; beyond it `rate_limited`.
    rate_limit: RateLimit = RateLimit::rate(20, 60), Takes::Rate;
    /// Calls from one address; beyond it `rate_limited`.
    address_rate_limit: RateLimit = RateLimit::None, Takes::Rate;
    /// Registrations from one address, including refused ones; beyond it `rate_limited`.
    registration_rate_limit: RateLimit = RateLimit::rate(2, 100), Takes::Rate;
    /// Commands that wait for the journal; beyond it `overloaded`.
    max_pending: u32 = 65_536, Takes::Count(1, 10_000_000);
    /// Commands that are appended to the journal in one batch.
    max_batch: u32 = 1_024, Takes::Count(1, 10_000_000);
}

impl<T> Limit<T> {
    /// The limit; none if there is none.
    #[must_use]
    pub fn limit(self) -> Option<T> {
        match self {
            Self::At(limit) => Some(limit),
            Self::None => None,
        }
    }
}

impl RateLimit {
    /// A bucket of this average rate and this burst.
    #[must_use]
    pub const fn rate(per_second: u32, burst: u32) -> Self {
        Self::At(Bucket { per_second, burst })
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

fn check(key: &'static str, value: &impl Setting, takes: Takes) -> Result<(), ConfigError> {
    if value.fits(takes) {
        return Ok(());
    }
    Err(ConfigError {
        key,
        accepted: takes.to_string(),
        found: value.to_string(),
    })
}

impl fmt::Display for Takes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(words) => {
                let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                f.write_str(&words.join(", "))
            }
            Self::Count(least, most) => write!(f, "{least} to {most}"),
            Self::Time(least) => write!(f, "{least} to {YEAR}"),
            Self::Limit => f.write_str("none, or 1 and more"),
            Self::Rate => write!(
                f,
                "none, or {{ per_second, burst }} from 1 to {MOST_RATE} each"
            ),
        }
    }
}

/// A value of the configuration.
trait Setting: fmt::Display {
    /// Whether the key accepts it.
    fn fits(&self, takes: Takes) -> bool;
}

impl Setting for u32 {
    fn fits(&self, takes: Takes) -> bool {
        matches!(takes, Takes::Count(least, most) if (least..=most).contains(self))
    }
}

impl Setting for Span {
    fn fits(&self, takes: Takes) -> bool {
        matches!(takes, Takes::Time(least) if (least..=YEAR).contains(self))
    }
}

impl Setting for Limit {
    fn fits(&self, takes: Takes) -> bool {
        matches!(takes, Takes::Limit) && *self != Self::At(0)
    }
}

impl Setting for RateLimit {
    fn fits(&self, takes: Takes) -> bool {
        let possible = |number: u32| (1..=MOST_RATE).contains(&number);
        let fits = match self {
            Self::At(bucket) => possible(bucket.per_second) && possible(bucket.burst),
            Self::None => true,
        };
        matches!(takes, Takes::Rate) && fits
    }
}

impl<T: fmt::Display> fmt::Display for Limit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(limit) => limit.fmt(f),
            Self::None => f.write_str("none"),
        }
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { per_second, burst } = self;
        write!(f, "{{ per_second: {per_second}, burst: {burst} }}")
    }
}

/// What a limit can be at.
pub trait Limited {
    /// How it is written.
    const FORM: &'static str;
}

impl Limited for u32 {
    const FORM: &'static str = "a whole number";
}

impl Limited for Bucket {
    const FORM: &'static str = "{ per_second, burst }";
}

/// The written form of a limit. Formats for machines serialise an option instead.
#[derive(Deserialize)]
#[serde(untagged)]
enum OrNone<T> {
    Value(T),
    None(NoLimit),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum NoLimit {
    None,
}

impl<T: Serialize> Serialize for Limit<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match (self, s.is_human_readable()) {
            (Self::At(value), true) => value.serialize(s),
            (Self::None, true) => s.serialize_unit_variant("NoLimit", 0, "none"),
            (Self::At(value), false) => s.serialize_some(value),
            (Self::None, false) => s.serialize_none(),
        }
    }
}

impl<'de, T: Limited + Deserialize<'de>> Deserialize<'de> for Limit<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        if !d.is_human_readable() {
            return Ok(Option::deserialize(d)?.map_or(Self::None, Self::At));
        }
        match OrNone::deserialize(d) {
            Ok(OrNone::Value(value)) => Ok(Self::At(value)),
            Ok(OrNone::None(NoLimit::None)) => Ok(Self::None),
            Err(_) => Err(D::Error::custom(format!("expected {} or none", T::FORM))),
        }
    }
}

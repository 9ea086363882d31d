//! Instants and spans. The core never reads a clock: both arrive from outside.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An instant: microseconds since the Unix epoch, UTC.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Time(pub u64);

/// A length of time in microseconds.
///
/// Written for people as a number and a unit: `250us`, `20ms`, `1.5s`, `10m`, `2h`, `1d`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

impl Time {
    /// The latest instant: no deadline lies beyond it.
    pub const MAX: Self = Self(u64::MAX);

    /// The span from `earlier` to this instant; zero if `earlier` is later.
    #[must_use]
    #[inline]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Span> for Time {
    type Output = Self;
    #[inline]
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// `n` microseconds.
    #[must_use]
    #[inline]
    pub const fn micros(n: u64) -> Self {
        Self(n)
    }

    /// `n` milliseconds.
    #[must_use]
    #[inline]
    pub const fn millis(n: u64) -> Self {
        Self(n * 1_000)
    }

    /// `n` seconds.
    #[must_use]
    #[inline]
    pub const fn secs(n: u64) -> Self {
        Self(n * 1_000_000)
    }

    /// Whole milliseconds, rounded down.
    #[must_use]
    #[inline]
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000
    }

    /// Whole seconds, rounded down.
    #[must_use]
    #[inline]
    pub const fn as_secs(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Whole seconds, rounded up, so that a remaining time is never shown as "0 s left".
    #[must_use]
    pub const fn as_secs_ceil(self) -> u64 {
        self.0.div_ceil(1_000_000)
    }

    /// This span times `n`, at most the longest span there is.
    #[must_use]
    #[inline]
    pub const fn times(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }

    /// Reads `250us`, `20ms`, `1.5s`, `10m`, `2h`, `1d`, and the smaller units after the larger ones,
    /// as in `1h30m`; at most 100 years.
    ///
    /// # Errors
    /// A sentence that lists the accepted forms.
    pub fn parse(text: &str) -> Result<Self, String> {
        let micros = micros(text).ok_or_else(|| {
            format!(
                "`{text}` is not a duration; write a number and a unit, as in 250us, 20ms, 1.5s, 10m, 2h, 1d or 1h30m"
            )
        })?;
        const CENTURY: u64 = 100 * 365 * 86_400_000_000;
        if micros > CENTURY {
            return Err(format!("`{text}` is more than 100 years"));
        }
        Ok(Self(micros))
    }
}

/// The microseconds of a duration; none if it is malformed.
fn micros(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 6] = [
        ("us", 1),
        ("ms", 1_000),
        ("s", 1_000_000),
        ("m", 60_000_000),
        ("h", 3_600_000_000),
        ("d", 86_400_000_000),
    ];
    let (mut rest, mut larger, mut total) = (text, u64::MAX, 0_u64);
    loop {
        let (number, after) = rest.split_at(rest.find(|c: char| c.is_ascii_alphabetic())?);
        let end = after.find(|c: char| !c.is_ascii_alphabetic());
        let (unit, after) = after.split_at(end.unwrap_or(after.len()));
        let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if *scale >= larger
            || fraction.len() > 6
            || whole.is_empty()
            || !digits(whole)
            || !digits(fraction)
        {
            return None;
        }
        let parts = 10_u64.pow(u32::try_from(fraction.len()).ok()?);
        // What is too long for the type is longer than the longest span.
        let whole = whole.parse().unwrap_or(u64::MAX).saturating_mul(*scale);
        let fraction = fraction.parse::<u64>().ok()?.checked_mul(*scale)? / parts;
        total = total.saturating_add(whole).saturating_add(fraction);
        if after.is_empty() {
            return Some(total);
        }
        // Only the last number may have decimals.
        if number.contains('.') {
            return None;
        }
        (rest, larger) = (after, *scale);
    }
}

impl Add for Span {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.0 {
            0 => (1_000_000, "s"),
            n if n % 86_400_000_000 == 0 => (86_400_000_000, "d"),
            n if n % 3_600_000_000 == 0 => (3_600_000_000, "h"),
            n if n % 60_000_000 == 0 => (60_000_000, "m"),
            n if n >= 1_000_000 => (1_000_000, "s"),
            n if n >= 1_000 => (1_000, "ms"),
            _ => (1, "us"),
        };
        let (whole, rest) = (self.0 / scale, self.0 % scale);
        if rest == 0 {
            return write!(f, "{whole}{unit}");
        }
        // All decimals that there are, so that the text reads as the same span.
        let decimals = format!("{:06}", rest * (1_000_000 / scale));
        write!(f, "{whole}.{}{unit}", decimals.trim_end_matches('0'))
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serializer.serialize_u64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            Self::parse(&text).map_err(serde::de::Error::custom)
        } else {
            u64::deserialize(deserializer).map(Self)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_and_print_alike() {
        let texts = "250us 1.5ms 20ms 1.5s 22.431057s 10m 2h 1d 0s 33.4s";
        for text in texts.split(' ') {
            assert_eq!(Span::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn spans_are_counted_in_whole_units() {
        let span = Span::micros(12_345_678);
        assert_eq!(
            (span.as_millis(), span.as_secs(), span.as_secs_ceil()),
            (12_345, 12, 13)
        );
        assert_eq!(Span::secs(12).as_secs_ceil(), 12);
        assert_eq!(Span::secs(1) + Span::millis(500), Span::millis(1_500));
        assert_eq!(Span::secs(1) - Span::millis(400), Span::millis(600));
        assert_eq!(Span::secs(1) - Span::secs(2), Span::ZERO);
    }

    #[test]
    fn errors_of_malformed_spans_show_the_form() {
        for text in [
            "",
            "5",
            "s",
            "5 s",
            "-1s",
            "1.s",
            ".5s",
            "5y",
            "1.1234567s",
            "+1s",
            "30m1h",
            "1m2m",
            "1.5h30m",
            "1h 30m",
            "1h30",
        ] {
            let why = Span::parse(text).unwrap_err();
            assert!(why.contains("write a number and a unit"), "{text}: {why}");
        }
        assert_eq!(Span::parse("1.123456s"), Ok(Span(1_123_456)));
        assert_eq!(Span::parse("1h30m"), Ok(Span::secs(5_400)));
        assert_eq!(Span::parse("2m05s"), Ok(Span::secs(125)));
        assert_eq!(Span::parse("2d07h"), Ok(Span::secs(55 * 3_600)));
        assert_eq!(Span::parse("36500d"), Ok(Span::secs(36_500 * 86_400)));
        for text in ["36501d", "99999999999d", "99999999999999999999s"] {
            assert!(
                Span::parse(text).unwrap_err().contains("100 years"),
                "{text}"
            );
        }
    }
}

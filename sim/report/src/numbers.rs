//! Numbers in a consistent format for people.

use std::fmt::Display;

use chat_types::Span;

/// With separated thousands: `61,204`.
pub(super) fn count(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000.. => format!("{},{:03}", count(n / 1_000), n % 1_000),
    }
}

/// `chat_ended 39`, for each.
pub(super) fn counted<'n, N: Display>(
    counts: impl IntoIterator<Item = (N, &'n u64)>,
) -> Vec<String> {
    let counts = counts.into_iter();
    counts
        .map(|(name, n)| format!("{name} {}", count(*n)))
        .collect()
}

/// A large number in at most five characters: `980`, `61.2k`, `1.2M`.
pub(super) fn short(n: f64) -> String {
    for (scale, unit) in [(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G")] {
        let scaled = n / scale;
        if scaled < 999.5 {
            let decimals = usize::from(scale > 1.0 && scaled < 99.95);
            return format!("{scaled:.decimals$}{unit}");
        }
    }
    format!("{n:.0e}")
}

/// A duration in milliseconds, with three significant digits: `480us`, `58ms`, `1.20s`, `33.4s`,
/// `211s`, then minutes, hours and days.
pub(super) fn milliseconds(ms: f64) -> String {
    // The last column: the number up to which the previous row applies after rounding.
    const STEPS: [(f64, usize, &str, f64); 9] = [
        (1e-3, 0, "us", 999.5),
        (1.0, 1, "ms", 9.95),
        (1.0, 0, "ms", 999.5),
        (1e3, 2, "s", 9.995),
        (1e3, 1, "s", 99.95),
        (1e3, 0, "s", 599.5),
        (6e4, 1, "m", 99.95),
        (3.6e6, 1, "h", 47.95),
        (8.64e7, 1, "d", f64::INFINITY),
    ];
    if ms <= 0.0 {
        return "0ms".to_owned();
    }
    for (scale, decimals, unit, below) in STEPS {
        let scaled = ms / scale;
        if scaled < below {
            return format!("{scaled:.decimals$}{unit}");
        }
    }
    "–".to_owned()
}

/// Milliseconds to the microsecond.
pub(super) fn span(ms: f64) -> Span {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rounded duration, not negative and far below 2^63 microseconds"
    )]
    Span((ms.max(0.0) * 1_000.0).round() as u64)
}

/// An instant since the beginning, to a tenth of a second: `0s`, `10s`, `33.4s`, `2m05s`, `1h30m`.
pub(super) fn instant(at: Span) -> String {
    let tenths = (at.0 + 50_000) / 100_000;
    let (seconds, rest) = (tenths / 10, tenths % 10);
    match seconds {
        0..120 if rest == 0 => format!("{seconds}s"),
        0..120 => format!("{seconds}.{rest}s"),
        120..7_200 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        7_200..172_800 => format!("{}h{:02}m", seconds / 3_600, seconds / 60 % 60),
        172_800.. => format!("{}d{:02}h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// Virtual over real time: `668×`, `1.4×`.
pub(super) fn times(ratio: f64) -> String {
    if ratio < 9.95 {
        format!("{ratio:.1}×")
    } else {
        format!("{}×", short(ratio))
    }
}

/// A plain number: whole, or with two decimals.
pub(super) fn figure(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e7 {
        format!("{value:.0}")
    } else if value.abs() < 1e4 {
        format!("{value:.2}")
    } else {
        short(value)
    }
}

/// `1 user`, `2 users`, `3 entries`.
pub(super) fn plural(n: u64, one: &str) -> String {
    let shown = count(n);
    match one.strip_suffix('y') {
        _ if n == 1 => format!("{shown} {one}"),
        Some(stem) => format!("{shown} {stem}ies"),
        None => format!("{shown} {one}s"),
    }
}

/// A value between these words; nothing without one.
pub(super) fn told<T: Display>(before: &str, value: Option<T>, after: &str) -> String {
    value.map_or_else(String::new, |value| format!("{before}{value}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_figures_and_never_round_into_the_wrong_unit() {
        let shown: Vec<String> = [
            0.0, 0.48, 0.9996, 1.04, 9.96, 58.0, 310.4, 999.6, 1.2e3, 9.996e3, 33.4e3, 99.96e3,
            211e3, 599.6e3, 750e3, 8.28e6, 363e6,
        ]
        .into_iter()
        .map(milliseconds)
        .collect();
        let expected = "0ms 480us 1.0ms 1.0ms 10ms 58ms 310ms 1.00s 1.20s 10.0s 33.4s 100s 211s \
                        10.0m 12.5m 2.3h 4.2d";
        assert_eq!(shown.join(" "), expected);
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(
            [0, 999, 1_000, 61_204, 1_234_567].map(count),
            ["0", "999", "1,000", "61,204", "1,234,567"]
        );
        assert_eq!(
            [0.0, 980.0, 999.7, 61_204.0, 1.2e6, 123e6].map(short),
            ["0", "980", "1.0k", "61.2k", "1.2M", "123M"]
        );
    }

    #[test]
    fn instants_are_short() {
        let seconds = [0.0, 10.0, 33.412, 125.0, 5_400.0, 9_000.0, 2e5];
        let shown = seconds.map(|seconds| instant(span(seconds * 1e3)));
        assert_eq!(
            shown,
            ["0s", "10s", "33.4s", "2m05s", "90m00s", "2h30m", "2d07h"]
        );
    }

    #[test]
    fn figures_and_ratios() {
        assert_eq!(
            [0.0, 3.0, 0.933, 123_456.5].map(figure),
            ["0", "3", "0.93", "123k"]
        );
        assert_eq!(
            [1.44, 668.0, 12_345.0].map(times),
            ["1.4×", "668×", "12.3k×"]
        );
        assert_eq!(
            [plural(1, "user"), plural(2, "user")],
            ["1 user", "2 users"]
        );
    }
}

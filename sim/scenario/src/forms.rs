//! The notations of small values: durations, ratios, distributions, numbers, names and texts.

use std::ops::RangeInclusive;
use std::sync::Arc;

use chat_types::Span;

use super::closest::did_you_mean;
use super::error::{Problem, Read};
use super::node::{Node, Value, shortened};
use sim_model::draw::Ratio;

/// The longest name, in characters.
const MAX_NAME: usize = 64;

/// The error about a value of the wrong kind.
pub(super) fn expected(node: &Node, what: &str, accepted: &str) -> Box<Problem> {
    Problem::new(
        node.place,
        format!("expected {what}, found {}", node.described()),
        format!("accepted here: {accepted}"),
    )
}

/// Any text; a text that YAML reads as a number or a boolean needs quotes.
pub(super) fn text<'n>(node: &'n Node, what: &str) -> Read<&'n str> {
    if let Value::Text(text) = &node.value {
        return Ok(text);
    }
    let accepted = if node.is_number() || matches!(node.value, Value::Bool(_)) {
        "a text; write it in quotes, as in \"42\""
    } else {
        "a text"
    };
    Err(expected(node, what, accepted))
}

/// A name: 1 to 64 characters on one line.
pub(super) fn name(node: &Node, what: &str) -> Read<Arc<str>> {
    let text = text(node, what)?;
    let length = text.chars().count();
    if length == 0 || length > MAX_NAME || text.trim() != text || text.contains(char::is_control) {
        return Err(expected(
            node,
            what,
            "1 to 64 characters on one line, without spaces at either end",
        ));
    }
    Ok(Arc::from(text))
}

/// `true` or `false`.
pub(super) fn truth(node: &Node) -> Read<bool> {
    let Value::Bool(value) = node.value else {
        return Err(expected(node, "true or false", "true or false"));
    };
    Ok(value)
}

/// One word of a fixed list.
pub(super) fn word<T: Copy>(node: &Node, what: &str, words: &[(&str, T)]) -> Read<T> {
    let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
    let Value::Text(given) = &node.value else {
        return Err(expected(node, what, &names.join(", ")));
    };
    match words.iter().find(|(name, _)| *name == given) {
        Some((_, value)) => Ok(*value),
        None => Err(Problem::new(
            node.place,
            format!("`{}` is not {what}", shortened(given)),
            format!("accepted here: {}", names.join(", ")),
        )
        .labelled(format!("not known{}", did_you_mean(given, &names)))),
    }
}

/// One name of a fixed list; returns it.
pub(super) fn listed(node: &Node, what: &str, names: &[&'static str]) -> Read<&'static str> {
    let words: Vec<(&str, &'static str)> = names.iter().map(|name| (*name, *name)).collect();
    word(node, what, &words)
}

/// A list, item by item.
pub(super) fn list<'n>(node: &'n Node, what: &str) -> Read<&'n [Node]> {
    let Value::List(items) = &node.value else {
        return Err(expected(
            node,
            &format!("a list of {what}"),
            &format!("{what}, each after a dash, or in brackets [ , ]"),
        ));
    };
    Ok(items)
}

/// The error about a value that is no number, or an impossible one.
fn wrong_number(node: &Node, what: &str, accepted: &str) -> Box<Problem> {
    if !node.is_number() {
        return expected(node, what, accepted);
    }
    Problem::new(
        node.place,
        format!("{} is not possible here", node.described()),
        format!("accepted here: {accepted}"),
    )
}

/// A whole number within a range.
pub(super) fn whole(node: &Node, range: RangeInclusive<u64>) -> Read<u64> {
    if let Value::Whole(n) = node.value
        && range.contains(&n)
    {
        return Ok(n);
    }
    Err(wrong_number(
        node,
        "a whole number",
        &format!("a whole number from {} to {}", range.start(), range.end()),
    ))
}

/// A whole number within a range, of 32 bits.
pub(super) fn count(node: &Node, range: RangeInclusive<u32>) -> Read<u32> {
    let wide = u64::from(*range.start())..=u64::from(*range.end());
    let n = whole(node, wide)?;
    Ok(u32::try_from(n).unwrap_or(*range.end()))
}

/// A number with at most three decimals, in thousandths; at most a million.
pub(super) fn thousandths(node: &Node) -> Read<u64> {
    const MOST: u64 = 1_000_000;
    let read = if let Value::Whole(n) = node.value {
        (n <= MOST).then(|| n * 1_000)
    } else if let Value::Fraction(x) = node.value {
        (0.0..=MOST as f64)
            .contains(&x)
            .then(|| whole_thousandths(x))
            .flatten()
    } else {
        None
    };
    read.ok_or_else(|| {
        wrong_number(
            node,
            "a number",
            "a number from 0 to 1000000 with at most three decimals, such as 200 or 0.5",
        )
    })
}

fn whole_thousandths(x: f64) -> Option<u64> {
    let scaled = x * 1_000.0;
    let rounded = libm::round(scaled);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a whole number from 0 to a billion"
    )]
    let thousandths = rounded as u64;
    (libm::fabs(scaled - rounded) <= 1e-6).then_some(thousandths)
}

/// The notation of a duration.
pub(super) const DURATION: &str = "a number and a unit, as in 250us, 20ms, 1.5s, 10m, 2h or 1d";

/// A duration, `0s` included.
pub(super) fn span(node: &Node) -> Read<Span> {
    let wrong = || expected(node, "a duration", DURATION);
    let Value::Text(text) = &node.value else {
        return Err(wrong());
    };
    Span::parse(text).map_err(|why| {
        // A duration beyond the bounds is still a duration: the core's message about it is better.
        if why.contains("more than") {
            Problem::new(node.place, why, format!("accepted here: {DURATION}"))
        } else {
            wrong()
        }
    })
}

/// A duration from a millisecond to a year.
pub(super) fn some_time(node: &Node) -> Read<Span> {
    let value = span(node)?;
    if value < Span::millis(1) || value > Span::secs(365 * 86_400) {
        return Err(Problem::new(
            node.place,
            format!("a duration of {value} is not possible here"),
            "accepted here: 1ms to 365d",
        ));
    }
    Ok(value)
}

/// A probability: `1/200`, `0` or `1`.
pub(super) fn ratio(node: &Node) -> Read<Ratio> {
    const ACCEPTED: &str = "a ratio of whole numbers from 0 to 1, as in 1/200; also 0 and 1";
    let number = |text: &str| -> Option<u32> {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten()
    };
    let read = if let Value::Whole(n) = node.value {
        (n <= 1).then_some((u32::from(n == 1), 1))
    } else if let Value::Text(text) = &node.value {
        text.split_once('/')
            .and_then(|(over, under)| Some((number(over.trim())?, number(under.trim())?)))
    } else {
        None
    };
    let (over, under) = read.ok_or_else(|| expected(node, "a probability", ACCEPTED))?;
    Ratio::new(over, under).ok_or_else(|| {
        Problem::new(
            node.place,
            format!("{over}/{under} is not a probability"),
            format!("accepted here: {ACCEPTED}"),
        )
    })
}

/// A probability above 0.
pub(super) fn possible_ratio(node: &Node) -> Read<Ratio> {
    let value = ratio(node)?;
    if value.is_possible() {
        return Ok(value);
    }
    Err(expected(
        node,
        "a share of more than nobody",
        "a ratio of whole numbers above 0 and up to 1, as in 1/4",
    ))
}

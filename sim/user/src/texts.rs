//! Texts of virtual users' messages, and replacement names.

use std::fmt::Write as _;
use std::sync::Arc;

use sim_model::protocol::Agent;

/// The filler of texts. It is ASCII, so that each character is one byte.
const FILLER: &str = "so we went on about the weather and the wares, and who would speak next, and \
    why a queue is fair when nobody minds the order but everybody minds the wait; then somebody \
    asked whether the stick had been seen, and somebody else said that it had, in the other room, \
    where it was being held by one who had nothing to say and took a long time over it. ";

/// Texts of up to this many characters are built on the stack.
const SHORT: usize = 512;

/// A text of exactly `length` characters. It begins with a tag that is unique in the run (the
/// speaker, and the number of the text), unless it is too short for one.
pub(super) fn text(agent: Agent, count: u32, length: usize) -> Arc<str> {
    if length > SHORT {
        let mut long = String::with_capacity(length + FILLER.len());
        let _ = write!(long, "{}.{} ", agent.0, count);
        while long.len() < length {
            long.push_str(FILLER);
        }
        long.truncate(length);
        return long.into();
    }
    let mut buffer = [b' '; SHORT];
    let tagged = put_number(&mut buffer, 0, agent.0);
    buffer[tagged] = b'.';
    let mut filled = put_number(&mut buffer, tagged + 1, count) + 1;
    while filled < length {
        let part = FILLER.len().min(length - filled);
        buffer[filled..filled + part].copy_from_slice(&FILLER.as_bytes()[..part]);
        filled += part;
    }
    // All bytes are ASCII, so the check cannot fail.
    std::str::from_utf8(&buffer[..length])
        .unwrap_or_default()
        .into()
}

/// Writes `n` in decimal at `start`, and returns the end. Formatting would cost more than the rest
/// of the text.
fn put_number(buffer: &mut [u8; SHORT], start: usize, n: u32) -> usize {
    let end = start + n.checked_ilog10().map_or(1, |log| log as usize + 1);
    let mut rest = n;
    for digit in buffer[start..end].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    end
}

/// A replacement for a name that is taken: `Ann-2`, cut to the 64 characters that a name may have.
pub(super) fn other_name(name: &str, number: u32) -> Arc<str> {
    let suffix = format!("-{number}");
    let kept = name.chars().take(64 - suffix.len());
    kept.chain(suffix.chars()).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_the_requested_length() {
        for length in [0, 1, 5, 40, 399, 400, 401, 511, 512, 513, 2_000] {
            let said = text(Agent(u32::MAX), u32::MAX, length);
            assert_eq!(said.chars().count(), length);
        }
    }

    #[test]
    fn texts_begin_with_a_unique_tag() {
        assert!(text(Agent(12), 0, 40).starts_with("12.0 so we went"));
        assert!(text(Agent(0), 107, 40).starts_with("0.107 so we"));
        assert!(text(Agent(12), 0, 600).starts_with("12.0 so we went"));
        assert_eq!(&*text(Agent(12), 345, 4), "12.3");
    }

    #[test]
    fn replacement_names_stay_within_the_limit() {
        assert_eq!(&*other_name("Ann", 2), "Ann-2");
        let long = other_name(&"é".repeat(64), 10);
        assert_eq!((long.chars().count(), long.ends_with("é-10")), (64, true));
    }
}

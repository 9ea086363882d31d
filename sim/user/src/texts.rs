//! Texts of virtual users' messages, and replacement names.

use std::fmt::Write as _;
use std::sync::Arc;

use sim_model::protocol::Agent;

/// The filler of texts. It is ASCII, so that each character is one byte.
const FILLER: &str = "so we went on about the weather and the wares, and who would speak next, and \
    why a queue is fair when nobody minds the order but everybody minds the wait; then somebody \
    asked whether the stick had been seen, and somebody else said that it had, in the other room, \
    where it was being held by one who had nothing to say and took a long time over it. ";

/// A text of exactly `length` characters. It begins with a tag that is unique in the run (the
/// speaker, and the number of the text), unless it is too short for one.
pub(super) fn text(agent: Agent, count: u32, length: usize) -> Arc<str> {
    let mut said = String::with_capacity(length + FILLER.len());
    // Writing to a string cannot fail.
    let _ = write!(said, "{}.{count} ", agent.0);
    while said.len() < length {
        said.push_str(FILLER);
    }
    said.truncate(length);
    said.into()
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

//! The end of each part of a scenario, and the duration of the whole.

use chat_types::Span;

use super::error::{Problem, Read};
use super::forms::some_time;
use super::node::{Node, Place};

/// The shortest default duration of a scenario.
const USUAL: Span = Span::secs(30);

/// The end of a phase, a step or a fault.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// The place of the part in the file.
    pub(super) place: Place,
    /// When it ends, from the start.
    pub(super) at: Span,
}

/// The duration, within which every part must end; the default is the end of the last part.
pub(super) fn duration(node: Option<&Node>, ends: &[End]) -> Read<Span> {
    let Some(node) = node else {
        let last = ends.iter().map(|end| end.at).max();
        return Ok(last.unwrap_or(Span::ZERO).max(USUAL));
    };
    let duration = some_time(node)?;
    match ends.iter().find(|end| end.at > duration) {
        None => Ok(duration),
        Some(End { place, at }) => Err(Problem::new(
            *place,
            format!("this ends at {at}, after the scenario's duration of {duration}"),
            format!("an end by {duration}, or a longer `duration`"),
        )
        .with(node.place, "the duration")),
    }
}

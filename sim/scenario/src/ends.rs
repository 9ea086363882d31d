//! When each part of a scenario is over, and how long the whole lasts.

use chat_types::Span;

use super::error::{Problem, Read};
use super::forms::some_time;
use super::node::{Node, Place};

/// A scenario that does not say how long it lasts lasts at least this long.
const USUAL: Span = Span::secs(30);

/// The end of a phase, a step or a fault.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// Where the part is written.
    pub(super) place: Place,
    /// When it is over, from the start.
    pub(super) at: Span,
}

/// The duration, within which everything must end; without one, what is written sets it.
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

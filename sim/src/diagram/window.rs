//! The stretch of a run that a diagram shows: as much of what came before as a person can follow.

use chat_core::Span;

use super::{Diagram, Event};

/// Events of those concerned that are shown before the violation.
const BEFORE: usize = 90;
/// Events of all lanes.
const ALL: usize = 240;
/// What follows shows what came of it.
const AFTER: usize = 24;
const AFTERMATH: Span = Span::secs(2);
/// Polls that brought nothing; they are folded away unless asked for.
const IDLE: usize = 120;
/// Time before the first event and after the last, so that nothing lies on the edge.
const MARGIN: u64 = 1_000;

/// What decides the stretch.
pub(super) struct Window<'a> {
    /// The instant that it is about.
    pub(super) about: Span,
    /// Lanes of those concerned.
    pub(super) concerned: &'a [usize],
    /// The end of the run.
    pub(super) last: Span,
}

/// Cuts the diagram down to the stretch, and says what is gone.
pub(super) fn cut(diagram: &mut Diagram, window: &Window<'_>) {
    let mut events = std::mem::take(&mut diagram.events);
    events.sort_by_key(|event| event.from_us);
    let about = window.about.0;
    let counts = |event: &&Event| !event.idle && event.from_us <= about;
    let nth_last = |all: &mut dyn Iterator<Item = &Event>, n: usize| {
        all.take(n).last().map(|event| event.from_us)
    };
    let mut before = events.iter().rev().filter(counts);
    let by_all = nth_last(&mut before, ALL);
    let is_concerned = |event: &&Event| window.concerned.contains(&event.lane);
    let mut of_concerned = events.iter().rev().filter(counts).filter(is_concerned);
    let by_concerned = nth_last(&mut of_concerned, BEFORE);
    let from = by_all.max(by_concerned).unwrap_or(0);
    let after = |event: &&Event| !event.idle && event.from_us > about;
    let to = events
        .iter()
        .filter(after)
        .take(AFTER)
        .last()
        .map_or(about, |event| ended(event).max(about))
        .min(about + AFTERMATH.0);
    let (mut earlier, mut later, mut idle): (u64, u64, u64) = (0, 0, 0);
    let polls = events
        .iter()
        .filter(|event| event.idle && event.from_us >= from && event.from_us <= to)
        .count();
    let mut polls_to_skip = polls.saturating_sub(IDLE);
    events.retain(|event| {
        if event.from_us > to {
            later += 1;
        } else if event.from_us < from && !event.blamed {
            earlier += 1;
        } else if event.idle && polls_to_skip > 0 {
            polls_to_skip -= 1;
            idle += 1;
        } else {
            return true;
        }
        false
    });
    let first = events
        .iter()
        .map(|event| event.from_us)
        .min()
        .unwrap_or(from);
    let end = events
        .iter()
        .map(ended)
        .filter(|end| *end <= to + AFTERMATH.0)
        .max()
        .unwrap_or(to)
        .max(to);
    diagram.from_us = first.min(from).saturating_sub(MARGIN);
    diagram.to_us = end.min(window.last.0.max(about)) + MARGIN;
    let (from, to) = (diagram.from_us, diagram.to_us);
    diagram
        .bands
        .retain(|band| band.to_us > from && band.from_us < to);
    diagram
        .rules
        .retain(|rule| rule.at_us >= from && rule.at_us <= to);
    diagram.events = events;
    for (count, words) in [
        (earlier, "earlier events of these lanes are not shown."),
        (later, "later events of these lanes are not shown."),
        (idle, "polls that brought nothing are not shown."),
    ] {
        if count > 0 {
            diagram.left_out.push(format!("{count} {words}"));
        }
    }
    if diagram.violation_us > to {
        let at = Span(diagram.violation_us);
        let words =
            format!("The violation was known at {at} only: the diagram shows what it is about.");
        diagram.left_out.push(words);
    }
}

fn ended(event: &Event) -> u64 {
    event.to_us.unwrap_or(event.from_us)
}

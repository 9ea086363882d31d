//! The period of a run that a diagram shows: as much before the violation as a person can follow.

use chat_types::Span;

use super::{Diagram, Event};

/// The most events of affected participants before the violation.
const BEFORE: usize = 90;
/// The most events of all lanes before the violation.
const ALL: usize = 240;
/// The events after the violation show its consequences.
const AFTER: usize = 24;
const AFTERMATH: Span = Span::secs(2);
/// The most polls without new events; the page hides them by default.
const IDLE: usize = 120;
/// The margin before the first and after the last event.
const MARGIN: u64 = 1_000;

/// Cuts the diagram to the period around the instant of the subject, and adds what was left out.
/// `concerned` are the lanes of the affected participants, and `last` is the end of the run.
pub(super) fn cut(diagram: &mut Diagram, about: Span, concerned: &[usize], last: Span) {
    let mut events = std::mem::take(&mut diagram.events);
    events.sort_by_key(|event| event.from_us);
    let about = about.0;
    let counts = |event: &&Event| !event.idle && event.from_us <= about;
    // If there are fewer events, the run is shown from its beginning.
    let mut before = events.iter().rev().filter(counts);
    let by_all = before.nth(ALL).map(|event| event.from_us + 1);
    let is_concerned = |event: &&Event| concerned.contains(&event.lane);
    let mut of_concerned = events.iter().rev().filter(counts).filter(is_concerned);
    let by_concerned = of_concerned.nth(BEFORE).map(|event| event.from_us + 1);
    let from = by_all.max(by_concerned).unwrap_or(0);
    let after = |event: &&Event| !event.idle && event.from_us > about;
    let last_shown = events.iter().filter(after).take(AFTER).last();
    let to = last_shown.map_or(about, |event| ended(event).max(about));
    let to = to.min(about + AFTERMATH.0);
    diagram.left_out = thin_out(&mut events, from, to);
    let first = events.first().map_or(from, |event| event.from_us);
    let ends = events.iter().map(ended);
    let end = ends.filter(|end| *end <= to + AFTERMATH.0).max();
    let end = end.map_or(to, |end| end.max(to));
    diagram.from_us = first.min(from).saturating_sub(MARGIN);
    diagram.to_us = end.min(last.0.max(about)) + MARGIN;
    let (from, to) = (diagram.from_us, diagram.to_us);
    let bands = &mut diagram.bands;
    bands.retain(|band| band.to_us > from && band.from_us < to);
    let healed = diagram.healed_us;
    diagram.healed_us = healed.filter(|at| (from..=to).contains(at));
    diagram.events = events;
    if diagram.violation_us > to {
        let at = Span(diagram.violation_us);
        let words =
            format!("The violation was known at {at} only: the diagram shows what it is about.");
        diagram.left_out.push(words);
    }
}

/// Removes events outside of the period, and superfluous polls; returns sentences about them.
fn thin_out(events: &mut Vec<Event>, from: u64, to: u64) -> Vec<String> {
    let (mut earlier, mut later, mut idle): (u64, u64, u64) = (0, 0, 0);
    let is_poll = |event: &&Event| event.idle && (from..=to).contains(&event.from_us);
    let mut too_many = events.iter().filter(is_poll).count().saturating_sub(IDLE);
    events.retain(|event| {
        if event.from_us > to {
            later += 1;
        } else if event.from_us < from && !event.blamed {
            earlier += 1;
        } else if event.idle && too_many > 0 {
            too_many -= 1;
            idle += 1;
        } else {
            return true;
        }
        false
    });
    let told = [
        (earlier, "earlier events of these lanes are not shown."),
        (later, "later events of these lanes are not shown."),
        (idle, "polls that brought nothing are not shown."),
    ];
    told.into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .collect()
}

fn ended(event: &Event) -> u64 {
    event.to_us.unwrap_or(event.from_us)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagram::{Band, Fate, Kind};

    fn event(lane: usize, at_ms: u64) -> Event {
        Event {
            kind: Kind::Request,
            lane,
            from_us: at_ms * 1_000,
            to_us: Some(at_ms * 1_000 + 500),
            fate: Fate::Fine,
            ..Event::default()
        }
    }

    fn cut_at(events: Vec<Event>, about_ms: u64) -> Diagram {
        let band = |from_ms: u64, to_ms: u64| Band {
            lane: 0,
            from_us: from_ms * 1_000,
            to_us: to_ms * 1_000,
            kind: "partition",
            label: String::new(),
        };
        let mut diagram = Diagram {
            violation_us: 90_000_000,
            events,
            bands: vec![band(0, 10), band(0, 60_000), band(80_000, 81_000)],
            healed_us: Some(5_000),
            ..Diagram::default()
        };
        let (about, last) = (Span::millis(about_ms), Span::secs(100));
        cut(&mut diagram, about, &[1], last);
        diagram
    }

    #[test]
    fn a_short_run_is_shown_whole() {
        let events = (0..50).map(|n| event(n % 3, n as u64 * 100));
        let diagram = cut_at(events.collect(), 4_000);
        assert_eq!(diagram.events.len(), 50);
        assert_eq!((diagram.from_us, diagram.bands.len()), (0, 2));
        assert_eq!(
            diagram.left_out,
            ["The violation was known at 90s only: the diagram shows what it is about."]
        );
    }

    #[test]
    fn a_long_run_is_shown_for_a_period_before_the_violation() {
        let events: Vec<Event> = (0..5_000).map(|n| event(n % 5, n as u64 * 10)).collect();
        let diagram = cut_at(events, 40_000);
        let first = diagram.events.first().unwrap().from_us;
        let last = diagram.events.last().unwrap().from_us;
        let shown = diagram.events.len();
        assert!(shown <= ALL + AFTER, "{shown}");
        assert!(
            first > 37_000_000 && (40_000_001..42_000_000).contains(&last),
            "{first} {last}"
        );
        assert_eq!((diagram.bands.len(), diagram.healed_us), (1, None));
        assert!(diagram.left_out[0].ends_with(" earlier events of these lanes are not shown."));
    }

    #[test]
    fn empty_polls_do_not_shorten_the_period() {
        let poll = |n: u64| Event {
            idle: true,
            ..event(1, 1_000 + n)
        };
        let mut events: Vec<Event> = (0..400).map(poll).collect();
        events.push(event(1, 0));
        events.push(event(1, 2_000));
        let diagram = cut_at(events, 2_000);
        assert_eq!(diagram.events.len(), 2 + IDLE);
        assert_eq!(
            diagram.left_out[0],
            "280 polls that brought nothing are not shown."
        );
    }
}

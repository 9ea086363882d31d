//! The abstraction by which exploring distinguishes states of the chat.
//!
//! A state is represented by a set of *facets*. Each is a small product of coarse classes, hashed
//! to a number. One large product would be new at every step.
//!
//! | facet | of each | what it is made of |
//! |---|---|---|
//! | `Room` | room | kind; members; absent; drafts; the stick's holder and its draft; claims; events |
//! | `Trouble` | room | kind; absent; the stick's holder; whether claimed; what is wrong |
//! | `Person` | participant | presence; streams; rooms; pair; ended; waiting; sticks; muted |
//! | `Inbox` | participant | presence; streams; inbox; blocks; pair |
//! | `Line` | world | those who wait; the kind of the next timer; participants |
//! | `Node` | world | pending; long polls; delayed replies; streams; what is wrong |
//! | `Wrong` | world | what is wrong; lives of the server; the kind of the next timer |
//! | `Point` | world | a `sometimes` point |
//! | `Did` | world | a refusal, an event, a timer, a move of a stick |
//!
//! Numbers are grouped into classes: 0, 1, 2, 3, to 7, to 15, and more. `faults.rs` says *what is
//! wrong*.

use chat_core::{Attendance, Hub, ParticipantOutline, RoomKind, RoomOutline, TimerKind};
use chat_types::mix;

use super::World;
use sim_model::outcome::{Point, Tally};

/// The number of distinct facets, to which hashes are reduced.
pub const FACETS: usize = 1 << 16;

/// Spreads small numbers over a word: the golden ratio of 2^64.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A facet of a state, as a number below [`FACETS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Facet(pub u16);

/// The facets of one state, without duplicates.
#[derive(Clone, Debug, Default)]
pub(super) struct FacetSet {
    facets: Vec<Facet>,
    /// A bit for each of 256 remainders. It rules out most absent facets at once.
    some: [u64; 4],
}

impl FacetSet {
    pub(super) fn has(&self, facet: Facet) -> bool {
        let (word, bit) = Self::place(facet);
        self.some[word] & bit != 0 && self.facets.contains(&facet)
    }

    pub(super) fn push(&mut self, facet: Facet) {
        if !self.has(facet) {
            let (word, bit) = Self::place(facet);
            self.some[word] |= bit;
            self.facets.push(facet);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Facet> {
        self.facets.iter()
    }

    const fn place(facet: Facet) -> (usize, u64) {
        let place = facet.0 % 256;
        ((place / 64) as usize, 1 << (place % 64))
    }
}

/// The subject of a facet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    Room,
    Trouble,
    Person,
    Inbox,
    Line,
    Node,
    Wrong,
    Point,
    Did,
}

impl Facet {
    fn of(about: About, classes: &[u64]) -> Self {
        // The classes are small, so mixing them once is enough.
        let fold = |word: u64, class: &u64| (word.rotate_left(7) ^ class).wrapping_mul(ODD);
        let hash = mix(about as u64, classes.iter().fold(0, fold));
        Self((hash >> 48) as u16)
    }

    /// A `sometimes` point.
    #[must_use]
    pub fn point(point: Point) -> Self {
        Self::of(About::Point, &[point as u64])
    }

    fn did(group: usize, place: usize) -> Self {
        Self::of(About::Did, &[group as u64, place as u64])
    }
}

/// The class of a number: 0, 1, 2, 3, to 7, to 15, and more.
fn class(n: usize) -> u64 {
    match n {
        0..=3 => n as u64,
        4..=7 => 4,
        8..=15 => 5,
        _ => 6,
    }
}

/// None, one, or several.
fn few(n: usize) -> u64 {
    n.min(2) as u64
}

const fn presence(presence: Attendance) -> u64 {
    match presence {
        Attendance::Present => 1,
        Attendance::Reconnecting => 2,
        Attendance::Away => 3,
    }
}

fn kind(kind: RoomKind) -> u64 {
    match kind {
        RoomKind::Pair => 0,
        RoomKind::Named => 1,
        RoomKind::Ended(reason) => 2 + reason as u64,
    }
}

fn timer(next: Option<TimerKind>) -> u64 {
    next.map_or(0, |kind| 1 + kind as u64)
}

/// The facets of a world's state.
pub(super) fn facets(world: &World<'_, '_>, into: &mut FacetSet) {
    let wrong = world.wrong();
    let Some(node) = world.server.node() else {
        into.push(Facet::of(About::Wrong, &[wrong, world.server.lives()]));
        return;
    };
    let hub = node.hub();
    for room in hub.room_outlines() {
        room_facets(&room, wrong, into);
    }
    for person in hub.participant_outlines() {
        person_facets(&person, into);
    }
    let load = node.load();
    let next = timer(hub.next_deadline().map(|(_, kind)| kind));
    into.push(line(hub, next));
    let load = [load.pending, load.parked, load.held, load.streams].map(class);
    let [pending, parked, held, streams] = load;
    let node = [pending, parked, held, streams.min(3), wrong];
    into.push(Facet::of(About::Node, &node));
    into.push(Facet::of(
        About::Wrong,
        &[wrong, world.server.lives(), next],
    ));
}

fn room_facets(room: &RoomOutline, wrong: u64, into: &mut FacetSet) {
    let kind = kind(room.kind);
    let holder = room.holder.map_or(0, presence);
    let events = usize::try_from(room.events).unwrap_or(usize::MAX);
    into.push(Facet::of(
        About::Room,
        &[
            kind,
            class(room.members).min(4),
            few(room.absent),
            few(room.drafts),
            holder,
            few(room.holder_draft),
            class(room.claims).min(4),
            class(events),
        ],
    ));
    if matches!(room.kind, RoomKind::Ended(_)) {
        return;
    }
    let trouble = [kind, few(room.absent), holder, few(room.claims), wrong];
    into.push(Facet::of(About::Trouble, &trouble));
}

fn person_facets(person: &ParticipantOutline, into: &mut FacetSet) {
    let view = &person.view;
    let there = presence(view.presence);
    let streams = u64::from(view.streams.min(2));
    let (holds, claims) = person.sticks;
    into.push(Facet::of(
        About::Person,
        &[
            there,
            streams,
            few(view.rooms.len()),
            few(person.pairs),
            few(person.ended),
            u64::from(view.waiting_since.is_some()),
            few(holds),
            few(claims),
            u64::from(view.is_muted),
        ],
    ));
    let (inbox, blocks) = (class(person.inbox), few(person.blocks));
    let inbox = [there, streams, inbox, blocks, few(person.pairs)];
    into.push(Facet::of(About::Inbox, &inbox));
}

fn line(hub: &Hub, next: u64) -> Facet {
    let counts = hub.counts();
    let participants = class(counts.participants);
    Facet::of(About::Line, &[class(counts.waiting), next, participants])
}

/// The facets of what the core did since `before`, which is updated.
pub(super) fn activity(before: &mut Vec<u64>, now: &Tally, into: &mut Vec<Facet>) {
    let groups = (0..).zip(now.coverage.groups());
    let counts = groups.flat_map(|(group, (_, counts))| {
        let places = (0..).zip(counts.values());
        places.map(move |(place, count)| (Facet::did(group, place), *count))
    });
    for (index, (facet, count)) in counts.enumerate() {
        if before.len() <= index {
            before.push(0);
        }
        if count > before[index] {
            into.push(facet);
        }
        before[index] = count;
    }
}

/// The `sometimes` points that were reached since `before`.
pub(super) fn points(before: &[u64], now: &Tally, into: &mut Vec<Facet>) {
    let reached = |point: &&Point| now.count(**point) > before[**point as usize];
    let reached = Point::ALL.iter().filter(reached);
    into.extend(reached.map(|point| Facet::point(*point)));
}

//! Sentences about differences, for people who know the protocol but not the source. A sentence
//! consists of typed parts, so that its subjects can be queried without parsing the text.

mod both_facts;
mod differences;
mod facts;
mod listing;
mod outcomes;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use chat_types::{Address, Epoch, RoomSeq, Seq, Span, Time};
use sim_model::outcome::Subject;
use sim_model::protocol::{Room, User};

/// A sentence, part by part.
#[derive(Debug, Default)]
pub(crate) struct Sentence(Vec<Part>);

#[derive(Debug)]
enum Part {
    Words(&'static str),
    User(User),
    Room(Room),
    /// An event by its position in a room.
    Place(Room, u64),
    /// A number, an instant or a duration.
    Figure(String),
    /// The beginning of a text, and the number of its characters.
    Quote(String, usize),
}

/// A value that a sentence can contain.
pub(crate) trait Describe {
    /// Appends it to the sentence.
    fn describe(&self, to: &mut Sentence);
}

/// Words of another judge.
pub(crate) struct Detail<'a>(pub(crate) &'a str);

impl Describe for Detail<'_> {
    fn describe(&self, to: &mut Sentence) {
        to.0.push(Part::Figure(self.0.to_owned()));
    }
}

/// Appends several values to a sentence.
macro_rules! describe {
    ($to:expr; $($part:expr),*) => {{ $($part.describe($to);)* }};
}
use describe;

/// The most characters of a quoted text.
const SHOWN: usize = 40;

impl Sentence {
    /// The sentence about it.
    pub(crate) fn of(thing: &impl Describe) -> Self {
        let mut sentence = Self::default();
        thing.describe(&mut sentence);
        sentence
    }

    /// The subjects of the sentence, besides the affected participants.
    pub(crate) fn subject(&self, concerned: &[User]) -> Subject {
        let mut subject = Subject::default();
        for part in &self.0 {
            subject.cause.push_str(match part {
                Part::Words(words) => words,
                Part::User(_) => "user_N",
                Part::Room(_) => "room_N",
                Part::Place(..) => "N of room_N",
                Part::Figure(_) => "N",
                Part::Quote(..) => "\"…\"",
            });
            match *part {
                Part::User(user) if !concerned.contains(&user) => subject.others.push(user),
                Part::Room(room) => subject.rooms.push(room),
                Part::Place(room, seq) => {
                    subject.rooms.push(room);
                    subject.place.get_or_insert((room, seq));
                }
                Part::Words(_) | Part::User(_) | Part::Figure(_) | Part::Quote(..) => {}
            }
        }
        subject
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            Part::Words(words) => f.write_str(words),
            Part::User(user) => user.fmt(f),
            Part::Room(room) => room.fmt(f),
            Part::Place(room, seq) => write!(f, "{seq} of {room}"),
            Part::Figure(figure) => f.write_str(figure),
            Part::Quote(text, length) if *length > SHOWN => {
                write!(f, "\"{text}…\" ({length} characters)")
            }
            Part::Quote(text, _) => write!(f, "\"{text}\""),
        })
    }
}

impl Describe for &'static str {
    fn describe(&self, to: &mut Sentence) {
        to.0.push(Part::Words(self));
    }
}

impl<T: Describe> Describe for &T {
    fn describe(&self, to: &mut Sentence) {
        (*self).describe(to);
    }
}

impl Describe for User {
    fn describe(&self, to: &mut Sentence) {
        to.0.push(Part::User(*self));
    }
}

impl Describe for Room {
    fn describe(&self, to: &mut Sentence) {
        to.0.push(Part::Room(*self));
    }
}

impl Describe for (Room, u64) {
    fn describe(&self, to: &mut Sentence) {
        to.0.push(Part::Place(self.0, self.1));
    }
}

impl Describe for u64 {
    fn describe(&self, to: &mut Sentence) {
        to.0.push(Part::Figure(self.to_string()));
    }
}

/// Numbers of these types are figures.
macro_rules! figures {
    ($($type:ty: $number:expr;)*) => {
        $(impl Describe for $type {
            fn describe(&self, to: &mut Sentence) {
                let number: fn(&Self) -> u64 = $number;
                number(self).describe(to);
            }
        })*
    };
}

figures! {
    u32: |n| (*n).into();
    u8: |n| (*n).into();
    Seq: |n| n.0;
    RoomSeq: |n| n.0;
    Epoch: |n| n.0;
    Address: |n| n.0;
}

impl Describe for Span {
    fn describe(&self, to: &mut Sentence) {
        to.0.push(Part::Figure(self.to_string()));
    }
}

/// An instant of the server's clock, which begins at 0.
impl Describe for Time {
    fn describe(&self, to: &mut Sentence) {
        Span(self.0).describe(to);
    }
}

impl Describe for Arc<str> {
    fn describe(&self, to: &mut Sentence) {
        quote(self, to);
    }
}

impl Describe for Box<str> {
    fn describe(&self, to: &mut Sentence) {
        quote(self, to);
    }
}

fn quote(text: &str, to: &mut Sentence) {
    let shown = text.chars().take(SHOWN).collect();
    to.0.push(Part::Quote(shown, text.chars().count()));
}

/// Words and the value after them; nothing if there is no value.
struct With<T>(&'static str, Option<T>);

impl<T: Describe> Describe for With<T> {
    fn describe(&self, to: &mut Sentence) {
        if let Self(words, Some(thing)) = self {
            describe!(to; *words, thing);
        }
    }
}

impl<T: Describe> Describe for Option<T> {
    fn describe(&self, to: &mut Sentence) {
        match self {
            Some(thing) => thing.describe(to),
            None => "nothing".describe(to),
        }
    }
}

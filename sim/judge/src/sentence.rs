//! Sentences about differences, for people who know the protocol but not the source. A sentence
//! consists of typed parts, so that its subjects can be queried without parsing the text.

mod differences;
mod facts;
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
    /// A number, an instant, a duration, or words of another judge.
    Figure(String),
    /// The beginning of a text, and the number of its characters.
    Quote(String, usize),
}

/// A value that a sentence can contain.
pub(crate) trait Describe {
    /// Appends it to the sentence.
    fn describe(&self, to: &mut Sentence);
}

/// The phrases about values of some types: for each form of a value the parts of its phrase.
macro_rules! phrases {
    ($($type:ty { $($form:pat => $($part:expr),+;)+ })+) => {
        $(impl Describe for $type {
            fn describe(&self, to: &mut Sentence) {
                match self { $($form => { $($part.describe(to);)+ })+ }
            }
        })+
    };
}
use phrases;

/// The types whose values are one part each.
macro_rules! parts {
    ($($type:ty: $value:pat => $part:expr;)+) => {
        $(impl Describe for $type {
            fn describe(&self, to: &mut Sentence) {
                let $value = self;
                to.0.push($part);
            }
        })+
    };
}

parts! {
    &'static str: words => Part::Words(words);
    User: user => Part::User(*user);
    Room: room => Part::Room(*room);
    (Room, u64): (room, seq) => Part::Place(*room, *seq);
    String: words => Part::Figure(words.clone());
    u16: number => Part::Figure(number.to_string());
    u8: number => Part::Figure(number.to_string());
    u32: number => Part::Figure(number.to_string());
    u64: number => Part::Figure(number.to_string());
    usize: number => Part::Figure(number.to_string());
    Seq: Self(number) => Part::Figure(number.to_string());
    RoomSeq: Self(number) => Part::Figure(number.to_string());
    Epoch: Self(number) => Part::Figure(number.to_string());
    Address: Self(number) => Part::Figure(number.to_string());
    Span: length => Part::Figure(length.to_string());
    // An instant of the server's clock, which begins at 0.
    Time: Self(at) => Part::Figure(Span(*at).to_string());
    Arc<str>: text => quote(text);
    Box<str>: text => quote(text);
}

/// The most characters of a quoted text.
const SHOWN: usize = 40;

fn quote(text: &str) -> Part {
    let shown = text.chars().take(SHOWN).collect();
    Part::Quote(shown, text.chars().count())
}

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
            subject.cause.push_str(match *part {
                Part::Words(words) => words,
                Part::User(user) => {
                    let others = (!concerned.contains(&user)).then_some(user);
                    subject.others.extend(others);
                    "user_N"
                }
                Part::Room(room) => {
                    subject.rooms.push(room);
                    "room_N"
                }
                Part::Place(room, seq) => {
                    subject.rooms.push(room);
                    subject.place.get_or_insert((room, seq));
                    "N of room_N"
                }
                Part::Figure(_) => "N",
                Part::Quote(..) => "\"…\"",
            });
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

impl<T: Describe> Describe for &T {
    fn describe(&self, to: &mut Sentence) {
        (*self).describe(to);
    }
}

impl<T: Describe> Describe for Arc<T> {
    fn describe(&self, to: &mut Sentence) {
        (**self).describe(to);
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

/// Words and the value after them; nothing if there is no value.
struct With<T>(&'static str, Option<T>);

impl<T: Describe> Describe for With<T> {
    fn describe(&self, to: &mut Sentence) {
        if let Self(words, Some(thing)) = self {
            words.describe(to);
            thing.describe(to);
        }
    }
}

/// Some values, with these words before the first and those before each other one.
struct Each<'a, T>(&'static str, &'static str, &'a [T]);

impl<T: Describe> Describe for Each<'_, T> {
    fn describe(&self, to: &mut Sentence) {
        let Self(mut words, later, all) = *self;
        for thing in all {
            words.describe(to);
            thing.describe(to);
            words = later;
        }
    }
}

//! Fingerprints by which the search recognises known states.
//!
//! The server's fingerprint is computed from its serialised form, as far as it affects the future.
//! It leaves out counters of entries, data that no client of these worlds can read (estimates, a
//! room's past messages), the contents of inboxes (`exhaust.rs` describes their replacement), and
//! remembered requests that will not be repeated. It leaves out times: they only decide when and in
//! which order deadlines fire, which `Hub::deadlines` returns. Growing numbers (of rooms, of places
//! in a room's order, of grants) are taken relative to a `Base`: a room with two past messages has
//! the same future as one without.

use std::collections::BTreeMap;
use std::fmt;

use chat_types::{mix, mix_bytes};
use serde::ser::{self, Serialize};

/// Fields of the server's state that are left out at any depth.
const LEFT_OUT: [&str; 8] = [
    "position",
    "config",
    "seed",
    "recent",
    "history",
    "end",
    "kept",
    "delivered",
];

/// Types of numbers that grow with every step. They only express an order, which their containers
/// express, too.
const UNNUMBERED: [&str; 3] = ["Time", "Ticket", "Seq"];

/// The reference for growing numbers: their values when all clients had learned all that had
/// happened.
#[derive(Clone, Debug, Default)]
pub(super) struct Base {
    /// The newest room.
    pub(super) room: u64,
    /// The end of each room's order.
    pub(super) ends: BTreeMap<u64, u64>,
    /// The newest grant of the stick.
    pub(super) epoch: u64,
}

impl Base {
    /// The distance of a room from the newest.
    pub(super) const fn room_behind(&self, room: u64) -> u64 {
        self.room.wrapping_sub(room)
    }

    /// The distance of a place in a room's order from the end.
    pub(super) fn beyond(&self, room: u64, room_seq: u64) -> u64 {
        room_seq.wrapping_sub(self.ends.get(&room).copied().unwrap_or_default())
    }

    /// The distance of a grant from the newest.
    pub(super) const fn later(&self, epoch: u64) -> u64 {
        epoch.wrapping_sub(self.epoch)
    }
}

/// The fingerprint of the server's state, as described above. `retrying` are the participants that may
/// repeat a request.
///
/// # Panics
/// If the state cannot be serialised, which is a bug.
pub(super) fn fingerprint(state: &impl Serialize, base: &Base, retrying: &[u64]) -> u64 {
    let mut fold = Fold {
        state: 0,
        base,
        retrying,
        last: 0,
        room: 0,
        user: 0,
        may_retry: false,
    };
    let folded = state.serialize(&mut fold);
    folded.expect("the core's state serialises").state
}

/// The fingerprint of a formatted value.
pub(super) fn fingerprint_shown(state: u64, value: fmt::Arguments<'_>) -> u64 {
    mix(mix_bytes(state, value.to_string().as_bytes()), 0xff)
}

/// Folds all serialised data into one word, which fails only if a type reports an error itself.
struct Fold<'a> {
    state: u64,
    base: &'a Base,
    retrying: &'a [u64],
    /// The last number, and the last room and participant.
    last: u64,
    room: u64,
    user: u64,
    /// Whether the participant that is being folded may repeat a request.
    may_retry: bool,
}

type Folded<T> = Result<T, fmt::Error>;

impl Fold<'_> {
    fn word(&mut self, word: u64) {
        self.last = word;
        self.state = mix(self.state, word);
    }

    /// Folds the number that was folded last again, as its type means it. `before` is the state without it.
    fn interpret(&mut self, name: Name, before: u64) {
        let relative = match name {
            "UserId" => return self.user = self.last,
            "RoomId" => {
                self.room = self.last;
                self.base.room_behind(self.last)
            }
            "RoomSeq" => self.base.beyond(self.room, self.last),
            "Epoch" => self.base.later(self.last),
            _ => return,
        };
        self.state = before;
        self.word(relative);
    }
}

/// What is folded as one word: numbers, and what a composite value begins with.
macro_rules! words {
    ($($name:ident($($value:tt: $type:ty),*) => $word:expr;)*) => {
        $(fn $name(self, $($value: $type),*) -> Folded<Self> {
            self.word($word);
            Ok(self)
        })*
    };
}

impl ser::Serializer for &mut Fold<'_> {
    type Ok = Self;
    type Error = fmt::Error;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    /// The state is serialised as a journal's snapshot has it.
    fn is_human_readable(&self) -> bool {
        false
    }

    words! {
        serialize_bool(value: bool) => value.into();
        serialize_u8(value: u8) => value.into();
        serialize_u16(value: u16) => value.into();
        serialize_u32(value: u32) => value.into();
        serialize_u64(value: u64) => value;
        serialize_char(value: char) => value.into();
        serialize_i8(value: i8) => i64::from(value).cast_unsigned();
        serialize_i16(value: i16) => i64::from(value).cast_unsigned();
        serialize_i32(value: i32) => i64::from(value).cast_unsigned();
        serialize_i64(value: i64) => value.cast_unsigned();
        serialize_f32(value: f32) => value.to_bits().into();
        serialize_f64(value: f64) => value.to_bits();
        serialize_none() => 0;
        serialize_unit() => 0;
        serialize_unit_struct(_: Name) => 0;
        serialize_unit_variant(_: Name, index: u32, _: Name) => index.into();
        serialize_seq(length: Option<usize>) => length.unwrap_or_default() as u64;
        serialize_map(length: Option<usize>) => length.unwrap_or_default() as u64;
        serialize_tuple(length: usize) => length as u64;
        serialize_tuple_struct(_: Name, length: usize) => length as u64;
        serialize_tuple_variant(_: Name, index: u32, _: Name, _: usize) => index.into();
        serialize_struct_variant(_: Name, index: u32, _: Name, _: usize) => index.into();
    }

    fn serialize_u128(self, value: u128) -> Folded<Self> {
        self.serialize_bytes(&value.to_le_bytes())
    }
    fn serialize_str(self, value: &str) -> Folded<Self> {
        self.serialize_bytes(value.as_bytes())
    }
    fn serialize_bytes(self, value: &[u8]) -> Folded<Self> {
        self.state = mix_bytes(self.state, value);
        Ok(self)
    }
    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Folded<Self> {
        self.word(1);
        value.serialize(self)
    }
    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        self,
        name: Name,
        value: &T,
    ) -> Folded<Self> {
        // The meaning of a number is known only after it was folded.
        if !UNNUMBERED.contains(&name) {
            let before = self.state;
            value.serialize(&mut *self)?;
            self.interpret(name, before);
        }
        Ok(self)
    }
    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: Name,
        index: u32,
        _: Name,
        value: &T,
    ) -> Folded<Self> {
        self.word(index.into());
        value.serialize(self)
    }
    fn serialize_struct(self, _: Name, _: usize) -> Folded<Self> {
        Ok(self)
    }
}

type Name = &'static str;

/// The parts of a composite value are folded one after another.
macro_rules! parts {
    ($($kind:ident: $($method:ident),*;)*) => {
        $(impl ser::$kind for &mut Fold<'_> {
            type Ok = Self;
            type Error = fmt::Error;
            $(fn $method<T: ?Sized + Serialize>(&mut self, value: &T) -> fmt::Result {
                value.serialize(&mut **self).map(drop)
            })*
            fn end(self) -> Folded<Self> {
                Ok(self)
            }
        })*
    };
}

parts! {
    SerializeSeq: serialize_element;
    SerializeTuple: serialize_element;
    SerializeTupleStruct: serialize_field;
    SerializeTupleVariant: serialize_field;
    SerializeMap: serialize_key, serialize_value;
}

impl ser::SerializeStruct for &mut Fold<'_> {
    type Ok = Self;
    type Error = fmt::Error;
    fn serialize_field<T: ?Sized + Serialize>(&mut self, name: Name, value: &T) -> fmt::Result {
        if LEFT_OUT.contains(&name) || name == "memory" && !self.may_retry {
            return Ok(());
        }
        value.serialize(&mut **self)?;
        if name == "who" {
            self.may_retry = self.retrying.contains(&self.user);
        }
        Ok(())
    }
    fn end(self) -> Folded<Self> {
        Ok(self)
    }
}

impl ser::SerializeStructVariant for &mut Fold<'_> {
    type Ok = Self;
    type Error = fmt::Error;
    fn serialize_field<T: ?Sized + Serialize>(&mut self, name: Name, value: &T) -> fmt::Result {
        // The number of messages in a pair room, which has no limit in these worlds.
        if name == "turns" {
            return Ok(());
        }
        value.serialize(&mut **self).map(drop)
    }
    fn end(self) -> Folded<Self> {
        Ok(self)
    }
}

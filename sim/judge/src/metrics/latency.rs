//! How long a message takes: from the sender's intended start to the first sight of it by anyone
//! else, by any path.
//!
//! The sender's answer says which message a call made, and may come before or after that sight.
//! Both are met in a table of fixed size: a message that falls out of it, since another takes its
//! place before both have come, is not measured.

use chat_types::{Span, Time};

use sim_model::protocol::Room;

/// Places in the table: a power of two.
const PLACES: usize = 1 << 15;

/// What is known of one message so far.
#[derive(Clone, Copy, Debug)]
pub(super) enum Half {
    /// Nothing yet.
    Empty,
    /// Its sender meant to start then.
    Sent(Time),
    /// Somebody saw it then.
    Seen(Time),
    /// It was measured.
    Done,
}

/// Messages of which one half is known.
#[derive(Clone, Debug)]
pub(super) struct InFlight(Vec<(Room, u64, Half)>);

impl InFlight {
    pub(super) fn new() -> Self {
        Self(vec![(Room(0), 0, Half::Empty); PLACES])
    }

    fn place(&mut self, room: Room, seq: u64) -> &mut Half {
        let mixed = (u64::from(room.0) ^ seq.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The highest bits: at most PLACES, whatever the width of an index.
        #[expect(clippy::cast_possible_truncation, reason = "fifteen bits")]
        let index = (mixed >> (64 - PLACES.trailing_zeros())) as usize;
        let place = &mut self.0[index];
        if (place.0, place.1) != (room, seq) {
            *place = (room, seq, Half::Empty);
        }
        &mut place.2
    }

    /// One half of a message is known. The latency, if that completes it.
    pub(super) fn learn(&mut self, room: Room, seq: u64, half: Half) -> Option<Span> {
        let known = self.place(room, seq);
        match (*known, half) {
            (Half::Empty, half) => {
                *known = half;
                None
            }
            (Half::Sent(intended), Half::Seen(at)) | (Half::Seen(at), Half::Sent(intended)) => {
                *known = Half::Done;
                Some(at.since(intended))
            }
            (Half::Sent(_) | Half::Seen(_) | Half::Done, _) => None,
        }
    }
}

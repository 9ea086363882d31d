//! The events that an inbox keeps, by their places, and the number of events of each room.
//!
//! An event is removed from the front after it was read, or as the oldest event of the room with
//! the most. An index finds that room. It is built at the first overflow, and dropped when half of
//! its events are gone, so an inbox that is read regularly does not pay for it. With the index a
//! push costs O(log n).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use chat_types::{Event, RoomId, Seq};

/// The events, in the order of their places.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "Vec<(Seq, Arc<Event>)>")]
pub(crate) struct Kept {
    /// The first and the last slot hold an event. A slot between them is empty after its event was
    /// removed. When half of the slots are empty, they are compacted.
    slots: VecDeque<Slot>,
    shares: Option<Box<Shares>>,
}

type Slot = (Seq, Option<Arc<Event>>);

impl Kept {
    /// The number of slots: at least the number of events.
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn len(&self) -> usize {
        let empty = self.shares.as_ref().map_or(0, |shares| shares.empty_slots);
        self.slots.len() - empty
    }

    /// The place of the oldest event.
    pub(crate) fn first(&self) -> Option<Seq> {
        self.slots.front().map(|(seq, _)| *seq)
    }

    /// Appends an event. Its place is after all others.
    #[inline]
    pub(crate) fn push(&mut self, seq: Seq, event: Arc<Event>) {
        if let Some(shares) = &mut self.shares {
            shares.add(event.room, seq);
        }
        self.slots.push_back((seq, Some(event)));
    }

    /// Removes the events up to `after`.
    pub(crate) fn drop_up_to(&mut self, after: Seq) {
        while self.first().is_some_and(|first| first <= after) {
            if self.shares.is_some() {
                self.pop_first();
            } else {
                self.slots.pop_front();
            }
        }
        // An inbox that overflowed once frees its memory when it is read.
        if self.slots.is_empty() && self.slots.capacity() > 16 {
            self.slots.shrink_to(8);
        }
    }

    /// Removes the oldest event.
    pub(crate) fn pop_first(&mut self) -> Option<(Seq, Arc<Event>)> {
        let (seq, event) = self.slots.pop_front()?;
        let event = event.expect("the first slot holds an event");
        if let Some(shares) = &mut self.shares {
            shares.take_oldest(event.room);
            while let Some((_, None)) = self.slots.front() {
                self.slots.pop_front();
                shares.empty_slots -= 1;
            }
            // A rebuild of so few costs less than the upkeep.
            if self.slots.len() <= shares.made_of / 2 {
                self.close_up();
                self.shares = None;
            }
        }
        Some((seq, event))
    }

    /// Removes the oldest event of the room with the most events. Of several such rooms, the one
    /// with the oldest event counts.
    pub(crate) fn pop_largest(&mut self) -> Option<(Seq, Arc<Event>)> {
        let first = self.first()?;
        let shares = self
            .shares
            .get_or_insert_with(|| Box::new(Shares::of(&self.slots)));
        let (room, seq) = shares.largest()?;
        if seq == first {
            return self.pop_first();
        }
        shares.take_oldest(room);
        shares.empty_slots += 1;
        let slots_are_mostly_empty = shares.empty_slots > self.slots.len() / 2;
        let place = self.slots.partition_point(|(one, _)| *one < seq);
        let event = self.slots[place].1.take();
        if slots_are_mostly_empty {
            self.close_up();
        }
        Some((seq, event.expect("the index names what is kept")))
    }

    /// The room's oldest event. Costs O(log n) with the index, and without it O(n).
    pub(crate) fn first_of(&self, room: RoomId) -> Option<&Arc<Event>> {
        let from = match &self.shares {
            Some(shares) => *shares.rooms.get(&room)?.front()?,
            None => Seq(0),
        };
        let mut events = self.slots_from(self.slots.partition_point(|(seq, _)| *seq < from));
        let first = events.find(|(_, event)| event.room == room);
        first.map(|(_, event)| event)
    }

    /// The events in order, each with its place.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Seq, &Arc<Event>)> {
        self.slots_from(0)
    }

    /// The events after `after`, in order.
    pub(crate) fn after(&self, after: Seq) -> impl Iterator<Item = (Seq, &Arc<Event>)> {
        self.slots_from(self.slots.partition_point(|(seq, _)| *seq <= after))
    }

    fn slots_from(&self, first: usize) -> impl Iterator<Item = (Seq, &Arc<Event>)> {
        let slots = self.slots.range(first..);
        slots.filter_map(|(seq, event)| Some((*seq, event.as_ref()?)))
    }

    /// All events, so that a restore can share them again.
    pub(crate) fn events_mut(&mut self) -> impl Iterator<Item = &mut Arc<Event>> {
        self.slots
            .iter_mut()
            .filter_map(|(_, event)| event.as_mut())
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    fn close_up(&mut self) {
        self.slots.retain(|(_, event)| event.is_some());
        if let Some(shares) = &mut self.shares {
            shares.empty_slots = 0;
        }
    }

    /// Checks the invariants of an inbox that ends at `end`.
    pub(crate) fn validate(&self, end: Seq) -> Result<(), String> {
        let places = || self.iter().map(|(seq, _)| seq);
        if !places().is_sorted_by(|a, b| a < b) || places().any(|seq| seq == Seq(0) || seq > end) {
            return Err("keeps events at places that are none".into());
        }
        let ends = [self.slots.front(), self.slots.back()];
        if ends.into_iter().flatten().any(|(_, event)| event.is_none()) {
            return Err("begins or ends with an empty slot".into());
        }
        let Some(shares) = &self.shares else {
            return Ok(());
        };
        let expected = Shares {
            made_of: shares.made_of,
            ..Shares::of(&self.slots)
        };
        if **shares != expected {
            return Err("counts the events of a room wrong".into());
        }
        Ok(())
    }
}

/// The number of events of each room. It is derived from the slots, and not part of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Shares {
    /// The places of each room's events.
    rooms: BTreeMap<RoomId, VecDeque<Seq>>,
    /// Each room by the number of its events and the place of the oldest. The largest is last.
    by_size: BTreeSet<(usize, Reverse<Seq>, RoomId)>,
    empty_slots: usize,
    /// The number of slots when this was built.
    made_of: usize,
}

impl Shares {
    fn of(slots: &VecDeque<Slot>) -> Self {
        let mut shares = Self {
            made_of: slots.len(),
            ..Self::default()
        };
        for (seq, event) in slots {
            match event {
                Some(event) => shares.rooms.entry(event.room).or_default().push_back(*seq),
                None => shares.empty_slots += 1,
            }
        }
        let sizes = shares
            .rooms
            .iter()
            .filter_map(|(room, places)| key(*room, places));
        shares.by_size = sizes.collect();
        shares
    }

    /// The room with the most events, and the place of the oldest.
    fn largest(&self) -> Option<(RoomId, Seq)> {
        self.by_size
            .last()
            .map(|(_, oldest, room)| (*room, oldest.0))
    }

    #[inline(never)]
    fn add(&mut self, room: RoomId, seq: Seq) {
        self.change(room, |places| places.push_back(seq));
    }

    fn take_oldest(&mut self, room: RoomId) {
        self.change(room, |places| {
            places.pop_front();
        });
    }

    fn change(&mut self, room: RoomId, change: impl FnOnce(&mut VecDeque<Seq>)) {
        let places = self.rooms.entry(room).or_default();
        if let Some(before) = key(room, places) {
            self.by_size.remove(&before);
        }
        change(places);
        match key(room, places) {
            Some(after) => drop(self.by_size.insert(after)),
            None => drop(self.rooms.remove(&room)),
        }
    }
}

fn key(room: RoomId, places: &VecDeque<Seq>) -> Option<(usize, Reverse<Seq>, RoomId)> {
    let oldest = places.front()?;
    Some((places.len(), Reverse(*oldest), room))
}

impl Serialize for Kept {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeSeq as _;

        let mut events = serializer.serialize_seq(Some(self.len()))?;
        for event in self.iter() {
            events.serialize_element(&event)?;
        }
        events.end()
    }
}

impl From<Vec<(Seq, Arc<Event>)>> for Kept {
    fn from(events: Vec<(Seq, Arc<Event>)>) -> Self {
        let slots = events.into_iter().map(|(seq, event)| (seq, Some(event)));
        Self {
            slots: slots.collect(),
            shares: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chat_types::{Body, RoomSeq, Time, UserId, Who};

    /// Events of these rooms, from place 1 on.
    fn of_rooms(rooms: impl IntoIterator<Item = u64>) -> Kept {
        let who = Who::unnamed(UserId(1));
        let mut kept = Kept::default();
        for (seq, room) in (1..).zip(rooms) {
            let event = Event {
                room: RoomId(room),
                room_seq: RoomSeq(seq),
                at: Time(seq),
                body: Body::Away(Arc::clone(&who)),
            };
            kept.push(Seq(seq), Arc::new(event));
        }
        kept
    }

    fn places(kept: &Kept) -> Vec<u64> {
        kept.iter().map(|(seq, _)| seq.0).collect()
    }

    fn take(kept: &mut Kept, count: usize) -> Vec<u64> {
        let taken = (0..count).filter_map(|_| kept.pop_largest());
        taken.map(|(seq, _)| seq.0).collect()
    }

    #[test]
    fn the_oldest_of_the_largest_room_goes_and_of_equals_the_one_with_the_oldest() {
        let mut kept = of_rooms([7, 5, 5, 5, 7, 6]);
        assert_eq!(take(&mut kept, 6), [2, 1, 3, 4, 5, 6]);
        assert_eq!((kept.len(), kept.pop_largest()), (0, None));
        assert_eq!(kept.validate(Seq(6)), Ok(()));
    }

    #[test]
    fn the_index_follows_what_comes_and_what_goes() {
        let mut kept = of_rooms([1, 2, 2, 2, 1, 1]);
        assert_eq!(take(&mut kept, 1), [1]);
        assert_eq!(kept.pop_first().map(|(seq, _)| seq), Some(Seq(2)));
        let event = kept
            .after(Seq(5))
            .next()
            .map(|(_, event)| Arc::clone(event));
        kept.push(Seq(7), event.expect("it is kept"));
        assert_eq!(kept.validate(Seq(7)), Ok(()));
        // Room 1 has three events; room 2 has two, which are older.
        assert_eq!(
            (take(&mut kept, 2), places(&kept)),
            (vec![5, 3], vec![4, 6, 7])
        );
        assert_eq!(kept.validate(Seq(7)), Ok(()));
    }

    #[test]
    fn an_inbox_has_fewer_empty_slots_than_events() {
        let mut kept = of_rooms(std::iter::once(1).chain(std::iter::repeat_n(2, 99)));
        for left in (50..100).rev() {
            take(&mut kept, 1);
            assert_eq!((kept.len(), kept.first()), (left, Some(Seq(1))));
            assert!(kept.slots.len() <= 2 * left);
            assert_eq!(kept.validate(Seq(100)), Ok(()));
        }
        assert_eq!(places(&kept)[..3], [1, 52, 53]);
    }

    #[test]
    fn the_index_goes_with_half_of_what_it_was_made_of() {
        let mut kept = of_rooms([1, 2, 2, 2, 1, 1, 1, 1]);
        assert_eq!(take(&mut kept, 1), [1]);
        assert_eq!(take(&mut kept, 1), [5]);
        for _ in 0..2 {
            kept.pop_first();
            assert!(kept.shares.is_some());
        }
        kept.pop_first();
        assert!(kept.shares.is_none());
        assert_eq!((places(&kept), kept.len()), (vec![6, 7, 8], 3));
        assert_eq!(kept.slots.len(), 3);
    }

    #[test]
    fn a_copy_from_bytes_has_the_same_events_and_goes_on_alike() {
        let mut kept = of_rooms([1, 2, 2, 2, 1, 3]);
        take(&mut kept, 2);
        let bytes = postcard::to_stdvec(&kept).expect("it serialises");
        let mut copy: Kept = postcard::from_bytes(&bytes).expect("it was written so");
        assert_eq!(places(&copy), places(&kept));
        assert_eq!(take(&mut copy, 4), take(&mut kept, 4));
    }

    #[test]
    fn damage_is_seen() {
        let damaged = |change: fn(&mut Kept)| {
            let mut kept = of_rooms([1, 2, 2, 1]);
            take(&mut kept, 1);
            kept.push(
                Seq(5),
                Arc::clone(kept.slots[1].1.as_ref().expect("it is kept")),
            );
            assert_eq!(kept.validate(Seq(5)), Ok(()));
            change(&mut kept);
            kept.validate(Seq(5)).expect_err("it is damaged")
        };
        assert!(damaged(|kept| kept.slots[1].0 = Seq(4)).contains("places that are none"));
        assert!(damaged(|kept| kept.slots[0].0 = Seq(0)).contains("places that are none"));
        assert!(damaged(|kept| kept.slots[3].0 = Seq(6)).contains("places that are none"));
        assert!(damaged(|kept| kept.slots[3].1 = None).contains("empty slot"));
        assert!(damaged(|kept| drop(kept.slots.pop_back())).contains("counts"));
        let shares = |kept: &mut Kept| kept.shares.as_mut().expect("it overflowed").empty_slots = 1;
        assert!(damaged(shares).contains("counts"));
    }
}

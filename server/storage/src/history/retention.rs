//! Deletes old messages, in small batches, so that reads go on.

use chat_core::{Position, Time};
use server_settings::{Bytes, Keep, Retention};

use super::tables::Tables;
use crate::sqlite::{bytes, execute, signed, unsigned, value};

/// The largest number of rows that one transaction deletes.
const BATCH: u64 = 500;

/// How many messages above their limit wait for the copy, before they are deleted without it.
const UNCOPIED: u64 = 100_000;

/// Whether the follower has other work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// It has nothing else to do.
    Low,
    /// There may be more records.
    High,
}

impl Tables {
    /// Deletes at most a batch of the oldest messages that exceed a limit, and the memberships and
    /// rooms that ended before all others. Returns whether there may be more.
    ///
    /// Under load it waits until there is much to delete: a hundredth of the limit, or a batch.
    /// Messages after `copied` stay, unless they are too old or far too many.
    pub(super) fn trim(
        &mut self,
        retention: Retention,
        now: Time,
        (load, copied): (Load, Position),
    ) -> rusqlite::Result<bool> {
        let (mut end, mut over) = (Position(u64::MAX), 0);
        if let Keep::UpTo(most) = retention.messages {
            let more = self.messages.saturating_sub(most);
            if load == Load::Low || more > (most / 100).min(BATCH) {
                over = more.min(BATCH);
            }
            if more <= UNCOPIED {
                end = copied;
            }
        }
        if let Keep::UpTo(Bytes(most)) = retention.bytes
            && bytes(&self.connection)? > most
        {
            over = BATCH;
        }
        let mut old = match retention.age {
            Keep::UpTo(age) => self.older_than(now.0.saturating_sub(age.0))?,
            Keep::All => 0,
        };
        if load == Load::High && old < BATCH {
            old = 0;
        }
        if over.max(old) == 0 {
            return Ok(false);
        }
        let transaction = self.connection.transaction()?;
        let mut deleted = 0;
        let delete = "DELETE FROM messages WHERE id IN (SELECT id FROM messages WHERE id <= ?1
             ORDER BY id LIMIT ?2)";
        for (end, number) in [(Position(u64::MAX), old), (end, over.saturating_sub(old))] {
            deleted += execute(&transaction, delete, [signed(end.0), signed(number)])?;
        }
        // Without a message after its end, a membership or a room shows nothing.
        for delete in [
            "DELETE FROM memberships WHERE id IN (SELECT id FROM memberships
             WHERE to_seq IS NOT NULL AND to_position < ?1 ORDER BY to_position LIMIT ?2)",
            "DELETE FROM rooms WHERE room IN (SELECT room FROM rooms
             WHERE ended_position < ?1 LIMIT ?2)",
        ] {
            let first = "SELECT coalesce(min(id), (SELECT position FROM place)) FROM messages";
            let first: i64 = value(&transaction, first, [])?;
            execute(&transaction, delete, [first, signed(2 * BATCH)])?;
        }
        transaction.commit()?;
        self.messages -= deleted;
        Ok(deleted == BATCH)
    }

    /// The number of messages before this instant, at most a batch.
    fn older_than(&self, instant: u64) -> rusqlite::Result<u64> {
        if instant == 0 {
            return Ok(0);
        }
        // Instants ascend with positions.
        let count = "SELECT count(*) FROM (SELECT at FROM messages ORDER BY id LIMIT ?2)
             WHERE at < ?1";
        let values = [signed(instant), signed(BATCH)];
        value(&self.connection, count, values).map(unsigned)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use chat_core::{Body, Event, RoomId, RoomSeq, Span, UserId, Who};

    use super::super::tables::{Fact, Reached};
    use super::*;

    const DAY: Span = Span::secs(24 * 3_600);

    /// An event on this day, at the position of the same number.
    fn fact(position: u64, day: u64, room: u64, body: impl FnOnce(Arc<Who>) -> Body) -> Fact {
        let who = Arc::new(Who {
            id: UserId(1),
            chosen_id: None,
            name: "ann".into(),
        });
        let event = Event {
            room: RoomId(room),
            room_seq: RoomSeq(position),
            at: Time(day * DAY.0),
            body: body(who),
        };
        Fact {
            position: Position(position),
            event: Arc::new(event),
            room_name: Some("lobby".into()),
        }
    }

    fn message(text: &str) -> impl FnOnce(Arc<Who>) -> Body {
        let text = text.into();
        |sender| Body::Message {
            sender,
            text,
            epoch: None,
        }
    }

    #[test]
    fn what_is_old_goes_with_its_words_and_its_rooms() {
        let folder = tempfile::tempdir().unwrap();
        let mut tables = Tables::open(&folder.path().join("history.db"), 7).unwrap();
        let facts = [
            fact(1, 1, 1, Body::Joined),
            fact(2, 1, 1, message("ancient words")),
            fact(3, 2, 1, Body::Left),
            fact(4, 2, 2, Body::Joined),
            fact(5, 2, 2, message("old words")),
            fact(6, 9, 2, message("new words")),
        ];
        let place = Reached {
            position: Position(6),
            link: None,
        };
        tables.write(&facts, &place).unwrap();
        assert_eq!(tables.messages, 3);
        let retention = Retention {
            age: Keep::UpTo(DAY.times(7)),
            messages: Keep::All,
            bytes: Keep::All,
        };
        let now = Time(10 * DAY.0);
        let all = Position(u64::MAX);
        assert_eq!(tables.trim(retention, now, (Load::High, all)), Ok(false));
        assert_eq!(tables.messages, 3, "three are not worth it under load");
        assert_eq!(tables.trim(retention, now, (Load::Low, all)), Ok(false));
        assert_eq!(tables.messages, 1);
        let count = |query: &str| -> i64 {
            tables
                .connection
                .query_row(query, [], |row| row.get(0))
                .unwrap()
        };
        assert_eq!(count("SELECT id FROM messages"), 6);
        assert_eq!(
            count("SELECT count(*) FROM words WHERE words MATCH '2xwords'"),
            1
        );
        assert_eq!(
            count("SELECT count(*) FROM words WHERE words MATCH '1xancient'"),
            0
        );
        super::super::sums::verify(&tables.connection).unwrap();
        assert_eq!(count("SELECT room FROM rooms"), 2, "the first has ended");
        assert_eq!(count("SELECT count(*) FROM memberships"), 1);
    }

    #[test]
    fn what_is_not_copied_stays_unless_it_is_too_old() {
        let folder = tempfile::tempdir().unwrap();
        let mut tables = Tables::open(&folder.path().join("history.db"), 7).unwrap();
        let facts: Vec<Fact> = (1..=9).map(|n| fact(n, n, 1, message("word"))).collect();
        let place = Reached {
            position: Position(9),
            link: None,
        };
        tables.write(&facts, &place).unwrap();
        let now = Time(10 * DAY.0);
        let mut trimmed = |age, copied| {
            let retention = Retention {
                age,
                messages: Keep::UpTo(2),
                bytes: Keep::All,
            };
            let copied = (Load::Low, Position(copied));
            tables.trim(retention, now, copied).unwrap();
            tables.messages
        };
        assert_eq!(trimmed(Keep::All, 0), 9);
        assert_eq!(trimmed(Keep::All, 3), 6);
        assert_eq!(trimmed(Keep::UpTo(DAY.times(5)), 3), 5);
        assert_eq!(trimmed(Keep::All, u64::MAX), 2);
    }
}

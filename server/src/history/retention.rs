//! Deletes old messages, in small batches, so that reads go on.

use std::str::FromStr;

use chat_core::{Span, Time};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::tables::{Tables, signed, unsigned};

/// The largest number of rows that one transaction deletes.
const BATCH: u64 = 500;

/// A limit that may be absent: a value, or `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep<T> {
    /// Up to this.
    UpTo(T),
    /// Everything.
    All,
}

/// How long messages stay in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// The largest age of a message.
    pub age: Keep<Span>,
    /// The largest number of messages.
    pub messages: Keep<u64>,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            age: Keep::All,
            messages: Keep::UpTo(1_000_000),
        }
    }
}

impl<'de, T> Deserialize<'de> for Keep<T>
where
    Self: FromStr<Err = String>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// A value of the settings' file.
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Value {
            Number(u64),
            Text(String),
        }
        let text = match Value::deserialize(deserializer)? {
            Value::Number(number) => number.to_string(),
            Value::Text(text) => text,
        };
        text.parse().map_err(D::Error::custom)
    }
}

impl FromStr for Keep<Span> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::All),
            text => Span::parse(text).map(Self::UpTo),
        }
    }
}

impl FromStr for Keep<u64> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("none", _) => Ok(Self::All),
            (_, Ok(number)) => Ok(Self::UpTo(number)),
            (_, Err(_)) => Err(format!("{text} is neither a number of messages nor `none`")),
        }
    }
}

impl Tables {
    /// Deletes at most a batch of the oldest messages that exceed a limit, and the memberships and
    /// rooms that ended before all others. Returns whether there may be more.
    pub(super) fn trim(&mut self, retention: Retention, now: Time) -> rusqlite::Result<bool> {
        let over = match retention.messages {
            Keep::UpTo(most) => self.messages.saturating_sub(most).min(BATCH),
            Keep::All => 0,
        };
        let oldest = match retention.age {
            Keep::UpTo(age) => now.0.saturating_sub(age.0),
            Keep::All => 0,
        };
        let over = over.max(self.older_than(oldest)?);
        if over == 0 {
            return Ok(false);
        }
        let transaction = self.connection.transaction()?;
        let delete =
            "DELETE FROM messages WHERE id IN (SELECT id FROM messages ORDER BY id LIMIT ?1)";
        let deleted = transaction
            .prepare_cached(delete)?
            .execute([signed(over)])?;
        // Without a message after its end, a membership or a room shows nothing.
        for delete in [
            "DELETE FROM memberships WHERE id IN (SELECT id FROM memberships
             WHERE to_seq IS NOT NULL AND to_position < ?1 ORDER BY to_position LIMIT ?2)",
            "DELETE FROM rooms WHERE room IN (SELECT room FROM rooms
             WHERE ended_position < ?1 LIMIT ?2)",
        ] {
            let first = "SELECT coalesce(min(id), (SELECT position FROM place)) FROM messages";
            let first: i64 = transaction.query_row(first, [], |row| row.get(0))?;
            let mut delete = transaction.prepare_cached(delete)?;
            delete.execute([first, signed(2 * BATCH)])?;
        }
        transaction.commit()?;
        self.messages -= deleted as u64;
        Ok(deleted as u64 == BATCH)
    }

    /// The number of messages before this instant, at most a batch.
    fn older_than(&self, instant: u64) -> rusqlite::Result<u64> {
        if instant == 0 {
            return Ok(0);
        }
        let count = "SELECT count(*) FROM (SELECT 1 FROM messages WHERE at < ?1 LIMIT ?2)";
        let mut count = self.connection.prepare_cached(count)?;
        let found = count.query_row([signed(instant), signed(BATCH)], |row| row.get(0))?;
        Ok(unsigned(found))
    }
}

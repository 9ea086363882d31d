//! Bearer tokens: a file of names and hashes, and the owners of sent tokens.
//!
//! The file has a line for each token, `name sha256-of-the-token-in-hex [end] [realm=name]`; `#`
//! begins a comment. It contains no secrets: `printf %s "$TOKEN" | sha256sum` computes the hash, and only
//! its owner knows the token. Tokens must be random, not chosen: `openssl rand -hex 32`. A token
//! with an end is invalid from then on: `2026-12-31` is the end of that day in UTC,
//! `2026-12-31T18:00:00Z` that instant. A token with a realm is valid in that realm alone.
//!
//! A participant belongs to a name, so its owner keeps it with another token. Two lines may have one
//! name if one of them ends: the tokens of before and after a change.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chat_core::Time;
use chrono::{DateTime, Days, NaiveDate, NaiveTime};
use server_chat::scope::CallerScope;
use server_settings::named_file;
use server_settings::os_error::{advice, reason};
use server_storage::clock;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

/// The largest number of tokens of a file: each request is compared with all of them.
const MAX_TOKENS: usize = 1_024;

/// The largest number of characters of a token.
const MAX_TOKEN: usize = 512;

/// The largest number of characters of a name.
const MAX_NAME: usize = 64;

/// The largest number of tokens of a name.
const MAX_OF_NAME: usize = 2;

/// The SHA-256 of a secret.
pub(super) type Hash = [u8; 32];

/// The tokens of one file.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    all: Vec<Token>,
}

/// A token with its owner's name and implicit identity. All clones are of the same token.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) name: Arc<str>,
    /// The SHA-256 of the token.
    pub(super) hash: Hash,
    pub(super) ends: Option<Time>,
    pub(super) realm: Option<Arc<str>>,
    /// The scope of all tokens of this name. It closes with the last of them.
    pub(super) scope: Arc<CallerScope>,
    /// Cancelled when the token becomes invalid.
    pub(super) ended: CancellationToken,
}

impl Token {
    /// Whether it is valid now.
    pub(super) fn is_valid(&self) -> bool {
        self.is_open() && !self.has_ended(clock::wall())
    }

    /// Whether it was not ended yet.
    pub(super) fn is_open(&self) -> bool {
        !self.ended.is_cancelled()
    }

    /// Whether one realm alone accepts it.
    pub(super) const fn is_bound(&self) -> bool {
        self.realm.is_some()
    }

    /// Whether it has expired at this instant.
    pub(super) fn has_ended(&self, now: Time) -> bool {
        self.ends.is_some_and(|end| end <= now)
    }

    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.hash == other.hash && self.realm == other.realm
    }
}

/// The differences between two readings of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// The number of tokens in both.
    pub(super) kept: usize,
    /// The names of new tokens.
    pub(super) added: Vec<Arc<str>>,
    /// The names of removed tokens.
    pub(super) revoked: Vec<Arc<str>>,
}

/// Why a token file is invalid.
#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    /// It cannot be read.
    #[error("cannot read the tokens in {}: {}", path.display(), unread(error))]
    Unread {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// A line is wrong.
    #[error("{}:{line}: {what}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The fault.
        what: Wrong,
    },
    /// It has no token at the start, so all requests would be refused.
    #[error("{}: there is no token in it; a line is a name and the token's SHA-256 in hex", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// Why a file cannot be read, and what to do.
fn unread(error: &std::io::Error) -> String {
    let known = [
        (
            ErrorKind::NotFound,
            "; --auth-tokens and --operator-tokens name files that exist",
        ),
        (
            ErrorKind::PermissionDenied,
            "; the file may be its owner's alone, if that is the user as whom the server runs",
        ),
    ];
    format!("{}{}", reason(error), advice(error, &known, ""))
}

/// The fault of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// It has too few words, or too many.
    #[error(
        "a line is a name, the token's SHA-256 in hex, when the token ends, if it does, and its \
         realm, if it has one: realm=arena"
    )]
    Shape,
    /// The name is invalid.
    #[error("a name has 1 to {MAX_NAME} letters, digits, dots, dashes and underscores")]
    Name,
    /// The hash is invalid.
    #[error("the second word is the token's SHA-256: 64 hexadecimal digits")]
    Hash,
    /// The end is invalid.
    #[error("the third word is when the token ends, in UTC: 2026-12-31 or 2026-12-31T18:00:00Z")]
    End,
    /// The realm is none of this server's.
    #[error("this server has no such realm: --realms names them")]
    Realm,
    /// The token occurs twice.
    #[error("that token is there twice")]
    Twice,
    /// The name has another token.
    #[error(
        "that name is there already; it may have {MAX_OF_NAME} tokens while it changes them, if the \
         line of the old one has an end: alice <hash> 2026-12-31"
    )]
    NameTwice,
    /// There are too many tokens.
    #[error("a file has at most {MAX_TOKENS} tokens")]
    TooMany,
}

impl Tokens {
    /// Parses a token file. Its lines may name these realms.
    ///
    /// # Errors
    /// It cannot be read, or has a wrong line: which, and what is accepted.
    pub(super) fn read(path: &Path, realms: &[Arc<str>]) -> Result<Self, TokensError> {
        let unread = |error| TokensError::Unread {
            path: path.into(),
            error,
        };
        let text = named_file::read(path).map_err(unread)?;
        Self::parse_in(path, &text, realms)
    }

    /// Checks the text of a file, whose lines may name any realm.
    ///
    /// # Errors
    /// It has a wrong line: which, and what is accepted.
    pub(super) fn check(path: &Path, text: &str) -> Result<(), TokensError> {
        let realms = text
            .split_whitespace()
            .filter_map(|word| word.strip_prefix("realm="));
        let realms: Vec<Arc<str>> = realms.map(Arc::from).collect();
        Self::parse_in(path, text, &realms).map(drop)
    }

    fn parse_in(path: &Path, text: &str, realms: &[Arc<str>]) -> Result<Self, TokensError> {
        Self::parse(text, realms).map_err(|(line, what)| TokensError::Wrong {
            path: path.into(),
            line,
            what,
        })
    }

    /// Whether the file has no token.
    pub(super) const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The tokens that this realm accepts.
    pub(super) fn of_realm(mut self, realm: &str) -> Self {
        let is_of = |token: &Token| token.realm.as_ref().is_none_or(|of| **of == *realm);
        self.all.retain(is_of);
        self
    }

    fn parse(text: &str, realms: &[Arc<str>]) -> Result<Self, (usize, Wrong)> {
        let mut tokens = Self::default();
        // Some editors begin a file with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                tokens.add(line, realms).map_err(|what| (number, what))?;
            }
        }
        Ok(tokens)
    }

    fn add(&mut self, line: &str, realms: &[Arc<str>]) -> Result<(), Wrong> {
        let mut words: Vec<_> = line.split_whitespace().collect();
        let last = words.last().copied();
        let realm = match last.and_then(|word| word.strip_prefix("realm=")) {
            Some(name) => {
                let known = realms.iter().find(|realm| ***realm == *name);
                words.pop();
                Some(Arc::clone(known.ok_or(Wrong::Realm)?))
            }
            None => None,
        };
        let (name, hash, ends) = match words[..] {
            [name, hash] => (name, hash, None),
            [name, hash, ends] => (name, hash, Some(end(ends).ok_or(Wrong::End)?)),
            _ => return Err(Wrong::Shape),
        };
        check_name(name)?;
        let hash = from_hex(hash).ok_or(Wrong::Hash)?;
        if self.all.iter().any(|token| token.hash == hash) {
            return Err(Wrong::Twice);
        }
        let of_name: Vec<_> = self
            .all
            .iter()
            .filter(|token| *token.name == *name)
            .collect();
        let mut endless = of_name.iter().filter(|token| token.ends.is_none());
        if of_name.len() >= MAX_OF_NAME || (ends.is_none() && endless.next().is_some()) {
            return Err(Wrong::NameTwice);
        }
        let scope = match of_name.first() {
            Some(other) => Arc::clone(&other.scope),
            None => Arc::new(CallerScope::with_id(&format!("token {name}"))),
        };
        if self.all.len() >= MAX_TOKENS {
            return Err(Wrong::TooMany);
        }
        self.all.push(Token {
            name: name.into(),
            hash,
            ends,
            realm,
            scope,
            ended: CancellationToken::new(),
        });
        Ok(())
    }

    /// Replaces the old tokens. A token in both stays valid, also if its end changed; a name in both
    /// keeps its participants.
    pub(super) fn replace(mut self, old: &Self) -> (Self, Changes) {
        let mut changes = Changes::default();
        for token in &mut self.all {
            let is_its = |before: &&Token| before.name == token.name && before.scope.is_open();
            if let Some(before) = old.all.iter().find(is_its) {
                token.scope = Arc::clone(&before.scope);
            }
            let stays = |before: &&Token| before.is_same(token) && before.is_open();
            match old.all.iter().find(stays) {
                Some(before) => {
                    token.ended = before.ended.clone();
                    changes.kept += 1;
                }
                None => changes.added.push(Arc::clone(&token.name)),
            }
        }
        for before in &old.all {
            if before.is_open() && !self.all.iter().any(|token| token.is_same(before)) {
                self.end(before);
                changes.revoked.push(Arc::clone(&before.name));
            }
        }
        (self, changes)
    }

    /// Ends expired tokens, and returns the names of those that were valid.
    pub(super) fn retire(&self, now: Time) -> Vec<Arc<str>> {
        let over = self.all.iter().filter(|token| token.has_ended(now));
        let open = over.filter(|token| token.is_open());
        open.map(|token| {
            self.end(token);
            Arc::clone(&token.name)
        })
        .collect()
    }

    /// Ends this token, and closes its scope if none of these tokens has it.
    fn end(&self, token: &Token) {
        token.ended.cancel();
        let has_it = |one: &Token| one.is_open() && Arc::ptr_eq(&one.scope, &token.scope);
        if !self.all.iter().any(has_it) {
            token.scope.close();
        }
    }

    /// The owner of this token. The duration does not depend on the token.
    pub(super) fn find(&self, sent: &str) -> Option<&Token> {
        if sent.len() > MAX_TOKEN {
            return None;
        }
        self.by_hash(&Sha256::digest(sent.as_bytes()).into())
    }

    /// The token with this hash. The duration does not depend on the hash.
    pub(super) fn by_hash(&self, hash: &Hash) -> Option<&Token> {
        let mut found = None;
        for token in &self.all {
            if differences(&token.hash, hash) == 0 {
                found = Some(token);
            }
        }
        found
    }
}

/// Checks the name of a token's owner.
pub(super) fn check_name(name: &str) -> Result<(), Wrong> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    match (1..=MAX_NAME).contains(&name.len()) && name.chars().all(plain) {
        true => Ok(()),
        false => Err(Wrong::Name),
    }
}

/// The instant that a word denotes: the end of a day in UTC, or an instant.
fn end(word: &str) -> Option<Time> {
    let instant = match NaiveDate::parse_from_str(word, "%Y-%m-%d") {
        Ok(day) if word.len() == 10 => {
            let next = day.checked_add_days(Days::new(1))?;
            next.and_time(NaiveTime::MIN).and_utc()
        }
        Ok(_) | Err(_) => {
            let instant = DateTime::parse_from_rfc3339(word).ok()?;
            (instant.offset().local_minus_utc() == 0).then(|| instant.to_utc())?
        }
    };
    Some(Time(
        u64::try_from(instant.timestamp_micros()).unwrap_or_default(),
    ))
}

/// The differing bits of two hashes, combined over all bytes. It always reads all bytes, so the
/// duration does not reveal the length of the common prefix.
fn differences(a: &Hash, b: &Hash) -> u8 {
    let differ = a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b));
    std::hint::black_box(differ)
}

fn from_hex(text: &str) -> Option<Hash> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut hash = [0; 32];
    if text.len() != 2 * hash.len() {
        return None;
    }
    for (byte, pair) in hash.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let value = digit(pair[0])? * 16 + digit(pair[1])?;
        *byte = u8::try_from(value).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests;

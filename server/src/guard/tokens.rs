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
//!
//! A file is read again when it changes, or on request. A missing or invalid one changes nothing: the
//! previous tokens stay, the log names the wrong line, and a metric says so until the file is read. A
//! file without tokens revokes them all, and then no request passes; only at the start it is an error,
//! because such a server would serve nobody. A file is only read after it looked unchanged twice in a
//! row, so that an incomplete file is not mistaken for a shorter one. A reading that failed is repeated
//! until the file could be read: a revocation waits for it.

use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chat_core::Time;
use chrono::{DateTime, Days, NaiveDate, NaiveTime};
use server_chat::scope::CallerScope;
use server_settings::named_file;
use server_settings::os_error::{advice, reason};
use server_storage::{clock, lock, random};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::LOG;

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
struct Tokens {
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
struct Changes {
    /// The number of tokens in both.
    kept: usize,
    /// The names of new tokens.
    added: Vec<Arc<str>>,
    /// The names of removed tokens.
    revoked: Vec<Arc<str>>,
}

/// Why a token file is invalid.
#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    /// It cannot be read.
    #[error("cannot read the tokens in {}: {}", _0.display(), unread(_1))]
    Unread(PathBuf, std::io::Error),
    /// A line, from 1, is wrong.
    #[error("{}:{}: {}", _0.display(), _1, _2)]
    Wrong(PathBuf, usize, Wrong),
    /// It has no token at the start, so all requests would be refused.
    #[error("{}: there is no token in it; a line is a name and the token's SHA-256 in hex", _0.display())]
    Empty(PathBuf),
}

/// Why a file cannot be read, and what to do.
fn unread(error: &std::io::Error) -> String {
    let absent = "; --auth-tokens and --operator-tokens name files that exist";
    let refused =
        "; the file may be its owner's alone, if that is the user as whom the server runs";
    let known = [
        (ErrorKind::NotFound, absent),
        (ErrorKind::PermissionDenied, refused),
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
    #[error("that token occurs twice")]
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
    /// Reads a token file. Its lines may name these realms.
    ///
    /// # Errors
    /// It cannot be read, or has a wrong line: which, and what is accepted.
    fn read(path: &Path, realms: &[Arc<str>]) -> Result<Self, TokensError> {
        let unread = |error| TokensError::Unread(path.into(), error);
        let text = named_file::read(path).map_err(unread)?;
        let wrong = |(line, what)| TokensError::Wrong(path.into(), line, what);
        Self::parse(&text, realms).map_err(wrong)
    }

    /// The tokens that this realm accepts.
    fn of_realm(mut self, realm: &str) -> Self {
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
        let of_name = self.all.iter().filter(|token| *token.name == *name);
        let of_name: Vec<_> = of_name.collect();
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
    fn replace(mut self, old: &Self) -> (Self, Changes) {
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
    fn retire(&self, now: Time) -> Vec<Arc<str>> {
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
    fn find(&self, sent: &str) -> Option<&Token> {
        if sent.len() > MAX_TOKEN {
            return None;
        }
        self.by_hash(&Sha256::digest(sent.as_bytes()).into())
    }

    /// The token with this hash. The duration does not depend on the hash.
    fn by_hash(&self, hash: &Hash) -> Option<&Token> {
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
fn check_name(name: &str) -> Result<(), Wrong> {
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
    let is_hash = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let byte = |index| u8::from_str_radix(&text[2 * index..2 * index + 2], 16).unwrap_or_default();
    is_hash.then(|| std::array::from_fn(byte))
}

/// The tokens of one file, for the lifetime of the server.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    realm: RealmOfTokens,
    now: Mutex<Now>,
    /// Held while the file is read again, so that an older reading does not replace a newer one.
    /// Requests do not wait for it.
    reading: Mutex<()>,
}

/// The realm for which a file is read, and all realms of the server, which its lines may name.
pub type RealmOfTokens = (Arc<str>, Arc<[Arc<str>]>);

#[derive(Debug)]
struct Now {
    tokens: Tokens,
    /// The stamp of the file when it was last read.
    read: Option<Stamp>,
    /// The stamp of the file when it was last checked.
    seen: Option<Stamp>,
    /// Why the file could not be read again, so that the tokens of before are valid.
    fault: Option<String>,
}

/// The parts by which a change of the file shows: device, inode, length, and the times of its last
/// changes in seconds and nanoseconds. None if the file does not exist.
type Stamp = [u64; 7];

impl TokenFile {
    /// Reads the tokens of a file that this realm accepts.
    ///
    /// # Errors
    /// It cannot be read, has no token, or has a wrong line: which, and what is accepted.
    pub fn read(path: &Path, realm: RealmOfTokens) -> Result<Self, TokensError> {
        let stamp = stamp(path);
        let (name, all) = &realm;
        let tokens = Tokens::read(path, all)?;
        if tokens.all.is_empty() {
            return Err(TokensError::Empty(path.into()));
        }
        Ok(Self {
            path: path.into(),
            now: Mutex::new(Now {
                tokens: tokens.of_realm(name),
                read: stamp,
                seen: stamp,
                fault: None,
            }),
            realm,
            reading: Mutex::default(),
        })
    }

    /// The token of the file that was sent, even if it has expired.
    pub(super) fn find(&self, sent: &str) -> Option<Token> {
        lock(&self.now).tokens.find(sent).cloned()
    }

    /// Whether this realm alone accepts the token.
    pub(crate) fn binds(&self, sent: &str) -> bool {
        self.find(sent).is_some_and(|token| token.realm.is_some())
    }

    /// The token with this hash, if it is valid.
    pub(super) fn by_hash(&self, hash: &Hash) -> Option<Token> {
        let token = lock(&self.now).tokens.by_hash(hash).cloned();
        token.filter(Token::is_valid)
    }

    /// Whether the file is invalid, so that the tokens of before are valid.
    pub(super) fn is_stale(&self) -> bool {
        lock(&self.now).fault.is_some()
    }

    /// Reads the file again, and logs what changed, or why it is invalid.
    pub fn reload(&self) {
        lock(&self.now).fault = None;
        self.read_again();
    }

    /// Reads the file again, and logs what changed, or why it is invalid, unless that is what the log
    /// told of before.
    fn read_again(&self) {
        let _reading = lock(&self.reading);
        let stamp = stamp(&self.path);
        let (name, all) = &self.realm;
        let read = Tokens::read(&self.path, all);
        let mut now = lock(&self.now);
        now.read = stamp;
        now.seen = stamp;
        let fault = read.as_ref().err().map(ToString::to_string);
        let is_told = fault == now.fault;
        now.fault = fault;
        match read {
            Ok(tokens) => {
                let (tokens, changes) = tokens.of_realm(name).replace(&now.tokens);
                now.tokens = tokens;
                let file = self.path.display();
                let (kept, added) = (changes.kept, changes.added.join(" "));
                let revoked = changes.revoked.join(" ");
                tracing::info!(
                    target: LOG, %file, kept, added, revoked, "the tokens were read again"
                );
                if now.tokens.all.is_empty() {
                    tracing::warn!(
                        target: LOG, %file, "the file has no token: nobody has access by it"
                    );
                }
            }
            Err(_) if is_told => {}
            Err(error) => tracing::error!(
                target: LOG, %error, "the tokens stay as they were: mend the file, and it is read \
                 again"
            ),
        }
    }

    /// Checks whether the file changed, and reads it if it looked the same twice, or could not be read
    /// before. Closes the identities of tokens that have expired at this instant.
    pub(super) fn look(&self, at: Time) {
        let stamp = stamp(&self.path);
        let is_due = {
            let mut now = lock(&self.now);
            let has_settled = std::mem::replace(&mut now.seen, stamp) == stamp;
            has_settled && (now.read != stamp || now.fault.is_some())
        };
        if is_due {
            self.read_again();
        }
        let over = lock(&self.now).tokens.retire(at);
        for name in over {
            tracing::info!(target: LOG, %name, "a token's time is over");
        }
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let file = fs::metadata(path).ok()?;
    let bits = i64::cast_unsigned;
    Some([
        file.dev(),
        file.ino(),
        file.len(),
        bits(file.mtime()),
        bits(file.mtime_nsec()),
        bits(file.ctime()),
        bits(file.ctime_nsec()),
    ])
}

/// Makes a token with this name. Its line goes to the end of the file, which is made if it is absent,
/// for its owner alone. Returns the token and, without a file, the line.
///
/// # Errors
/// The name is wrong; or the file is, cannot be written, or has the name already.
pub fn new_token(name: &str, file: Option<&Path>) -> Result<String, Box<dyn Error>> {
    // In a line, a name with `#` or a space would be something else.
    check_name(name)?;
    let token = secret()
        .map_err(|error| format!("the machine has no randomness to make a token of: {error}"))?;
    let hash = Sha256::digest(token.as_bytes());
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let line = format!("{name} {hash}\n");
    match file {
        Some(file) => {
            append(file, &line)?;
            Ok(format!("{token}\n"))
        }
        None => Ok(format!("{token}\n{line}")),
    }
}

/// A random text.
pub(super) fn secret() -> Result<String, getrandom::Error> {
    Ok(URL_SAFE_NO_PAD.encode(random::<32>()?))
}

fn append(path: &Path, line: &str) -> Result<(), Box<dyn Error>> {
    let file = path.display();
    let unwritten = |error| format!("cannot write {file}: {}", reason(&error));
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600);
    let mut file = options.open(path).map_err(unwritten)?;
    let text = named_file::text(&file).map_err(unwritten)?;
    let length = text.len() as u64;
    let end = match text.is_empty() || text.ends_with('\n') {
        true => "",
        false => "\n",
    };
    let added = format!("{end}{line}");
    let text = text + &added;
    // Its lines may name any realm.
    let words = text.split_whitespace();
    let realms = words.filter_map(|word| Some(word.strip_prefix("realm=")?.into()));
    let realms: Vec<Arc<str>> = realms.collect();
    let wrong = |(line, what)| TokensError::Wrong(path.into(), line, what);
    Tokens::parse(&text, &realms).map_err(wrong)?;
    // One write: two commands at once do not mix their lines.
    let written = file.write_all(added.as_bytes());
    let written = written.and_then(|()| file.sync_all());
    if written.is_err() {
        // A part of a line would make the whole file wrong.
        let _ = file.set_len(length);
    }
    Ok(written.map_err(unwritten)?)
}

#[cfg(test)]
mod tests;

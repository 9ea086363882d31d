//! A token file: read again when it changes, or on request; and a new token with its line.
//!
//! A missing or invalid file changes nothing: the previous tokens stay, the log names the wrong line,
//! and a metric says so until the file is read. A file without tokens revokes them all, and then no
//! request passes; only at the start it is an error, because such a server would serve nobody. A file is
//! only read after it looked unchanged twice in a row, so that an incomplete file is not mistaken for a
//! shorter one. A reading that failed is repeated until the file could be read: a revocation waits for it.

use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chat_core::Time;
use server_settings::os_error::reason;
use server_settings::{named_file, realm};
use server_storage::lock;
use sha2::{Digest as _, Sha256};

use super::LOG;
use super::tokens::{Changes, Hash, Token, Tokens, TokensError, check_name};

/// The tokens of one file, for the lifetime of the server.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    realm: RealmOfTokens,
    now: Mutex<Now>,
    /// Held while the file is read again, so that an older reading does not replace a newer one.
    /// Requests do not wait for it.
    reading: Mutex<()>,
    /// Whether the file could not be read again, and the tokens of before are valid.
    is_stale: AtomicBool,
}

/// The realm for which a file is read, among those that its lines may name.
#[derive(Clone, Debug)]
pub struct RealmOfTokens {
    /// The realm.
    pub name: Arc<str>,
    /// All realms of the server.
    pub all: Arc<[Arc<str>]>,
}

#[derive(Debug)]
struct Now {
    tokens: Tokens,
    /// The stamp of the file when it was last read.
    read: Option<Stamp>,
    /// The stamp of the file when it was last checked.
    seen: Option<Stamp>,
    /// Whether the last reading failed, whatever is in the file.
    is_unread: bool,
}

/// The parts by which a change of the file shows: device, inode, length, and the times of its last
/// changes in seconds and nanoseconds. None if the file does not exist.
type Stamp = [u64; 7];

impl TokenFile {
    /// Reads a token file, for a server with one realm.
    ///
    /// # Errors
    /// It cannot be read, has no token, or has a wrong line: which, and what is accepted.
    pub fn read(path: &Path) -> Result<Self, TokensError> {
        let name: Arc<str> = realm::FIRST.into();
        let all = Arc::new([Arc::clone(&name)]);
        Self::read_for(path, RealmOfTokens { name, all })
    }

    /// Reads the tokens of a file that this realm accepts.
    ///
    /// # Errors
    /// It cannot be read, has no token, or has a wrong line: which, and what is accepted.
    pub fn read_for(path: &Path, realm: RealmOfTokens) -> Result<Self, TokensError> {
        let stamp = stamp(path);
        let tokens = Tokens::read(path, &realm.all)?;
        if tokens.is_empty() {
            return Err(TokensError::Empty { path: path.into() });
        }
        Ok(Self {
            path: path.into(),
            now: Mutex::new(Now {
                tokens: tokens.of_realm(&realm.name),
                read: stamp,
                seen: stamp,
                is_unread: false,
            }),
            realm,
            reading: Mutex::default(),
            is_stale: AtomicBool::new(false),
        })
    }

    /// The token of the file that was sent, even if it has expired.
    pub(super) fn find(&self, sent: &str) -> Option<Token> {
        lock(&self.now).tokens.find(sent).cloned()
    }

    /// Whether this realm alone accepts the token.
    pub(crate) fn binds(&self, sent: &str) -> bool {
        self.find(sent).is_some_and(|token| token.is_bound())
    }

    /// The token with this hash, if it is valid.
    pub(super) fn by_hash(&self, hash: &Hash) -> Option<Token> {
        let token = lock(&self.now).tokens.by_hash(hash).cloned();
        token.filter(Token::is_valid)
    }

    /// Whether the file is invalid, so that the tokens of before are valid.
    pub(super) fn is_stale(&self) -> bool {
        self.is_stale.load(Ordering::Relaxed)
    }

    /// Reads the file again, and logs what changed, or why it is invalid.
    pub fn reload(&self) {
        self.tell(self.try_reload());
    }

    fn tell(&self, reloaded: Result<Changes, TokensError>) {
        let file = self.path.display();
        self.is_stale.store(reloaded.is_err(), Ordering::Relaxed);
        match reloaded {
            Ok(Changes {
                kept,
                added,
                revoked,
            }) => {
                let (added, revoked) = (added.join(" "), revoked.join(" "));
                tracing::info!(
                    target: LOG, %file, kept, added, revoked, "the tokens were read again"
                );
                if kept == 0 && added.is_empty() {
                    tracing::warn!(
                        target: LOG, %file, "the file has no token: nobody has access by it"
                    );
                }
            }
            Err(error) => tracing::error!(
                target: LOG, %error, "the tokens stay as they were: mend the file, and it is read \
                 again"
            ),
        }
    }

    fn try_reload(&self) -> Result<Changes, TokensError> {
        let _reading = lock(&self.reading);
        let stamp = stamp(&self.path);
        let read = Tokens::read(&self.path, &self.realm.all);
        let read = read.map(|tokens| tokens.of_realm(&self.realm.name));
        let mut now = lock(&self.now);
        // An invalid file is reported once, and not at each check.
        now.read = stamp;
        now.seen = stamp;
        now.is_unread = matches!(read, Err(TokensError::Unread { .. }));
        let (tokens, changes) = read?.replace(&now.tokens);
        now.tokens = tokens;
        Ok(changes)
    }

    /// Checks whether the file changed, and reads it if it looked the same twice, or could not be read
    /// before. Closes the identities of tokens that have expired at this instant.
    pub(super) fn look(&self, at: Time) {
        let stamp = stamp(&self.path);
        let (has_settled, has_changed, is_unread) = {
            let mut now = lock(&self.now);
            let has_settled = std::mem::replace(&mut now.seen, stamp) == stamp;
            (has_settled, now.read != stamp, now.is_unread)
        };
        if has_settled && (has_changed || is_unread) {
            let reloaded = self.try_reload();
            // A further failure is the one that the log told of.
            let is_told = !has_changed && matches!(reloaded, Err(TokensError::Unread { .. }));
            if !is_told {
                self.tell(reloaded);
            }
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
    let mut secret = [0; 32];
    getrandom::fill(&mut secret)
        .map_err(|error| format!("the machine has no randomness to make a token of: {error}"))?;
    let token = URL_SAFE_NO_PAD.encode(secret);
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
    Tokens::check(path, &(text + &added))?;
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
mod tests {
    use super::*;

    fn line(name: &str, token: &str) -> String {
        let hash = Sha256::digest(token.as_bytes());
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{name} {hex}\n")
    }

    fn is_known(file: &TokenFile, token: &str) -> bool {
        file.find(token).is_some_and(|token| token.is_valid())
    }

    #[test]
    fn a_change_is_read_when_it_has_settled_and_a_bad_file_changes_nothing() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(line("ann", "a").as_bytes()).unwrap();
        let tokens = TokenFile::read(file.path()).unwrap();
        file.write_all(line("ben", "b").as_bytes()).unwrap();
        tokens.look(Time(0));
        assert!(!is_known(&tokens, "b"));
        tokens.look(Time(0));
        assert!(is_known(&tokens, "a") && is_known(&tokens, "b"));
        file.write_all(b"cid\n").unwrap();
        tokens.look(Time(0));
        tokens.look(Time(0));
        assert!(is_known(&tokens, "a") && is_known(&tokens, "b"));
        std::fs::write(file.path(), line("ann", "a")).unwrap();
        tokens.look(Time(0));
        tokens.look(Time(0));
        assert!(is_known(&tokens, "a") && !is_known(&tokens, "b"));
    }

    #[test]
    fn an_emptied_file_revokes_every_token_and_a_missing_one_none() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), line("ann", "a")).unwrap();
        let tokens = TokenFile::read(file.path()).unwrap();
        std::fs::write(file.path(), "# none\n").unwrap();
        tokens.look(Time(0));
        assert!(is_known(&tokens, "a"));
        tokens.look(Time(0));
        assert!(!is_known(&tokens, "a"));
        assert!(matches!(
            TokenFile::read(file.path()),
            Err(TokensError::Empty { .. })
        ));
        std::fs::write(file.path(), line("ben", "b")).unwrap();
        tokens.reload();
        assert!(is_known(&tokens, "b") && !is_known(&tokens, "a"));
        drop(file);
        tokens.reload();
        assert!(is_known(&tokens, "b"));
    }
}

//! The page's cookie: a browser session, so that the page does not have to store the token.
//!
//! `POST /session` with the token in the Authorization header opens a session and sets the cookie;
//! `DELETE /session` ends it. The cookie is a random secret of its own, and half of the session: the
//! answer has a second one, the proof, which the page keeps in the storage of its origin and sends in a
//! header. The server stores only the hash of both. A session ends with its token, after half a day
//! without use, and after a week. Each token has a limited number of sessions; beyond it the one unused
//! for longest ends. With a journal, sessions outlive a restart in a file beside it, which holds hashes
//! only: of their secrets, and of the tokens for which they stand.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::http::header::{COOKIE, HeaderMap, HeaderValue, SET_COOKIE};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use server_settings::os_error::reason;
use server_storage::{blocking, clock, lock, private};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::http_error::{Fault, HttpError, json};
use super::tokens::{Hash, Token, TokenFile, secret};
use super::{Known, LOG, bearer, is_over_tls};
use crate::headers::listed;

/// The cookie's name without TLS.
const NAME: &str = "talking_stick_session";

/// The cookie's name over TLS. The prefix makes the browser check that this host set it, over TLS
/// and for all paths (RFC 6265bis, section 4.1.3.2).
const HOST_NAME: &str = "__Host-talking_stick_session";

/// The header of the proof. A cookie knows no ports: the browser also sends it to any other program on
/// this host, which could replay it.
const PROOF: &str = "chat-session";

/// The largest number of sessions of a token. Beyond it, the one unused for longest ends.
const MAX_EACH: usize = 16;

/// The longest time without a request.
const IDLE: Duration = Duration::from_secs(12 * 3_600);

/// The longest lifetime.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3_600);

/// The time since the last stored use after which a use is stored.
const STORED_EACH: Duration = Duration::from_secs(60);

/// The name of the file in a data folder.
pub const SESSIONS: &str = "sessions.json";

/// The largest size of the file in bytes: enough for the most sessions of the most tokens.
const MAX_FILE: u64 = 8 << 20;

/// A session in the file. Times are seconds of the wall clock; hashes are in base64.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredSession {
    /// The hash of the cookie and the proof.
    secrets: String,
    /// The hash of a user's token.
    caller: Option<String>,
    /// The hash of an operator's token.
    operator: Option<String>,
    opened: u64,
    used: u64,
}

/// The hash in a text of the file.
fn decoded(text: &str) -> Option<Hash> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

/// The sessions in the file; none if it is absent or damaged.
fn read(path: &Path) -> Vec<StoredSession> {
    let read = || {
        let mut text = Vec::new();
        let file = private::open(path, File::options().read(true))?;
        file.take(MAX_FILE).read_to_end(&mut text)?;
        Ok::<_, io::Error>(serde_json::from_slice(&text)?)
    };
    read().unwrap_or_else(|error| {
        if error.kind() != io::ErrorKind::NotFound {
            let (file, error) = (path.display(), reason(&error));
            let told = "the sessions of the page are lost: people log in again";
            tracing::warn!(target: LOG, %file, error, "{told}");
        }
        Vec::new()
    })
}

/// The browser sessions, by the hashes of their secrets.
#[derive(Debug, Default)]
pub(super) struct PageSessions {
    all: Mutex<BTreeMap<Hash, PageSession>>,
    /// The ends of the cookies' names, which differ by realm: the browser sends those of one host
    /// together.
    suffix: String,
    /// The path of the file, locked while it is written.
    file: Option<Mutex<PathBuf>>,
    /// Whether the file lacks something.
    pub(super) stale: AtomicBool,
}

/// A browser session.
#[derive(Debug)]
struct PageSession {
    known: Known,
    opened: Instant,
    used: Instant,
    /// Cancelled when the session or its token ends.
    ended: CancellationToken,
}

impl PageSession {
    fn is_over(&self) -> bool {
        self.ended.is_cancelled() || self.used.elapsed() >= IDLE || self.opened.elapsed() >= LONGEST
    }
}

impl PageSessions {
    /// The sessions in this file whose tokens, of users or of operators, are still valid.
    /// `suffix` ends the names of their cookies.
    pub(super) fn read(
        (file, suffix): (Option<PathBuf>, String),
        tokens: [Option<&TokenFile>; 2],
    ) -> Self {
        let stored = file.as_deref().map(read).unwrap_or_default();
        let all = stored.into_iter().filter_map(|stored| {
            let [caller, operator] = [(tokens[0], stored.caller), (tokens[1], stored.operator)]
                .map(|(tokens, stored)| tokens?.by_hash(&decoded(&stored?)?));
            let known = Known::by_token(caller, operator);
            let ended = known.ended.as_ref()?.child_token();
            let session = PageSession {
                known,
                opened: instant(stored.opened),
                used: instant(stored.used),
                ended,
            };
            Some((decoded(&stored.secrets)?, session))
        });
        Self {
            all: Mutex::new(all.collect()),
            suffix,
            file: file.map(Mutex::new),
            stale: AtomicBool::new(false),
        }
    }

    /// Writes the file, if there is one.
    pub(super) async fn save(self: &Arc<Self>) {
        let sessions = Arc::clone(self);
        let written = blocking(move || sessions.write()).await;
        if let Err(error) = written {
            self.stale.store(true, Ordering::Relaxed);
            tracing::error!(%error, "the sessions of the page cannot be stored");
        }
    }

    fn write(&self) {
        self.stale.store(false, Ordering::Relaxed);
        let Some(file) = &self.file else {
            return;
        };
        // The content is made when it is this writer's turn: an older one never replaces a newer one.
        let path = lock(file);
        let written = serde_json::to_vec(&self.stored()).map_err(Into::into);
        if let Err(error) = written.and_then(|text| private::replace(&path, &text)) {
            let (file, error) = (path.display(), reason(&error));
            tracing::warn!(target: LOG, %file, error, "the sessions of the page are not stored");
        }
    }

    fn stored(&self) -> Vec<StoredSession> {
        let wall = seconds();
        let of = |since: Instant| wall.saturating_sub(since.elapsed().as_secs());
        let token =
            |owner: &Option<Token>| owner.as_ref().map(|one| URL_SAFE_NO_PAD.encode(one.hash));
        let all = lock(&self.all);
        all.iter()
            .map(|(secrets, session)| StoredSession {
                secrets: URL_SAFE_NO_PAD.encode(secrets),
                caller: token(&session.known.caller),
                operator: token(&session.known.operator),
                opened: of(session.opened),
                used: of(session.used),
            })
            .collect()
    }

    /// The owners of the session whose secrets are in these headers.
    pub(super) fn find(&self, headers: &HeaderMap) -> Option<Known> {
        let secrets = self.secrets(headers)?;
        let mut all = lock(&self.all);
        let session = all.get_mut(&secrets)?;
        if session.is_over() {
            return None;
        }
        if session.used.elapsed() >= STORED_EACH {
            self.stale.store(true, Ordering::Relaxed);
        }
        session.used = Instant::now();
        let mut known = session.known.still();
        known.ended = Some(session.ended.clone());
        Some(known)
    }

    /// Opens a session for these owners, and returns its secrets: the value of the cookie, and the
    /// proof of the page's origin.
    fn open(&self, known: &Known) -> Result<(String, String), Fault> {
        let (Some(scope), Some(ended)) = (known.scope(), &known.ended) else {
            return Err(Fault::TokenUnknown);
        };
        let secrets = secret().and_then(|cookie| Ok((cookie, secret()?)));
        let (cookie, proof) = secrets.map_err(|error| {
            tracing::error!(%error, "no randomness for a session");
            Fault::Overloaded
        })?;
        let session = PageSession {
            known: known.clone(),
            opened: Instant::now(),
            used: Instant::now(),
            ended: ended.child_token(),
        };
        let mut all = lock(&self.all);
        let is_its = |one: &PageSession| one.known.scope().is_some_and(|of| Arc::ptr_eq(of, scope));
        let its = all.iter().filter(|(_, one)| is_its(one));
        if its.clone().count() >= MAX_EACH {
            let oldest = its
                .max_by_key(|(_, one)| one.used.elapsed())
                .map(|(hash, _)| *hash);
            if let Some(oldest) = oldest.and_then(|hash| all.remove(&hash)) {
                oldest.ended.cancel();
            }
        }
        all.insert(hash(&cookie, proof.as_bytes()), session);
        Ok((cookie, proof))
    }

    /// Removes the session whose secrets are in these headers.
    fn remove(&self, headers: &HeaderMap) -> Option<PageSession> {
        let secrets = self.secrets(headers)?;
        lock(&self.all).remove(&secrets)
    }

    /// The hash of the cookie and the proof in these headers.
    fn secrets(&self, headers: &HeaderMap) -> Option<Hash> {
        Some(hash(self.kept(headers)?, headers.get(PROOF)?.as_bytes()))
    }

    /// The value of the page's cookie. If there are two, the one that only this host can have set.
    fn kept<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let named = |name: &str| {
            listed(headers, COOKIE, ';').find_map(|pair| {
                let named = pair.strip_prefix(name)?;
                named.strip_prefix(self.suffix.as_str())?.strip_prefix('=')
            })
        };
        named(HOST_NAME).or_else(|| named(NAME))
    }

    /// The answer that sets this cookie, with the proof of a session; without one the cookie ends.
    fn answer(&self, headers: &HeaderMap, cookie: &str, proof: Option<&str>) -> Response {
        let (name, tls) = match is_over_tls(headers) {
            true => (HOST_NAME, "; Secure"),
            false => (NAME, ""),
        };
        let name = format!("{name}{}", self.suffix);
        let age = proof.map_or("; Max-Age=0", |_| "");
        let cookie = format!("{name}={cookie}; Path=/; HttpOnly; SameSite=Strict{tls}{age}");
        let mut success = serde_json::json!({ "success": true });
        if let Some(proof) = proof {
            success["proof"] = proof.into();
        }
        let mut response = json(StatusCode::OK, &success);
        if let Ok(mut value) = HeaderValue::from_str(&cookie) {
            value.set_sensitive(true);
            response.headers_mut().insert(SET_COOKIE, value);
        }
        response
    }

    /// Removes ended sessions.
    pub(super) fn sweep(&self) {
        lock(&self.all).retain(|_, session| {
            let is_over = session.is_over();
            if is_over {
                session.ended.cancel();
            }
            !is_over
        });
    }
}

/// The wall clock, in seconds.
fn seconds() -> u64 {
    clock::wall().0 / 1_000_000
}

/// The instant of this second of the wall clock, also before the start of this process.
fn instant(second: u64) -> Instant {
    let (now, ago) = (Instant::now(), seconds().saturating_sub(second));
    now.checked_sub(Duration::from_secs(ago)).unwrap_or(now)
}

fn hash(cookie: &str, proof: &[u8]) -> Hash {
    let whole = Sha256::new_with_prefix(cookie).chain_update([0]);
    whole.chain_update(proof).finalize().into()
}

/// `POST /session`: opens a session for the token of the request, if it is valid.
pub(super) async fn open(
    State(sessions): State<Arc<PageSessions>>,
    Extension(known): Extension<Known>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    if bearer(&headers).is_none() {
        return Err(Fault::TokenRequired.into());
    }
    // An operator stays the user that its browser was before.
    let before = || sessions.find(&headers)?.caller;
    let caller = known.caller.clone().or_else(before);
    opened(&sessions, &Known { caller, ..known }, &headers).await
}

async fn opened(
    sessions: &Arc<PageSessions>,
    known: &Known,
    headers: &HeaderMap,
) -> Result<Response, HttpError> {
    let (cookie, proof) = sessions.open(known)?;
    sessions.save().await;
    Ok(sessions.answer(headers, &cookie, Some(&proof)))
}

/// `DELETE /session`: ends the session, or only the operator's part of it, if the session is of a user
/// with another token, too: then a new one for that user begins.
pub(super) async fn close(
    State(sessions): State<Arc<PageSessions>>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let removed = sessions.remove(&headers);
    // The session's other calls end when this one has its answer, or when its client is gone.
    let _ends = removed.as_ref().map(|one| one.ended.clone().drop_guard());
    sessions.save().await;
    let user = removed.as_ref().and_then(|session| {
        let operator = session.known.operator.as_ref()?;
        let user = session.known.still().caller?;
        (user.hash != operator.hash).then_some(user)
    });
    match user {
        Some(user) => opened(&sessions, &Known::by_token(Some(user), None), &headers).await,
        None => Ok(sessions.answer(&headers, "", None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use server_chat::scope::CallerScope;

    fn cookies(cookie: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let pair = format!("a=b; {NAME}={cookie}; c=d");
        headers.append(COOKIE, HeaderValue::from_static("theme=dark"));
        headers.append(COOKIE, pair.parse().unwrap());
        headers
    }

    fn of((cookie, proof): &(String, String)) -> HeaderMap {
        let mut headers = cookies(cookie);
        headers.insert(PROOF, proof.parse().unwrap());
        headers
    }

    fn owner(name: &str) -> Known {
        let owner = Token {
            name: name.into(),
            hash: hash(name, b""),
            ends: None,
            realm: None,
            scope: Arc::new(CallerScope::default()),
            ended: CancellationToken::new(),
        };
        Known::by_token(Some(owner), None)
    }

    #[test]
    fn the_cookie_is_found_among_others_and_that_of_the_host_first() {
        let sessions = PageSessions::default();
        assert_eq!(sessions.kept(&HeaderMap::new()), None);
        let mut headers = cookies("abc");
        assert_eq!(sessions.kept(&headers), Some("abc"));
        let host = HeaderValue::from_static("__Host-talking_stick_session=xyz");
        headers.append(COOKIE, host);
        assert_eq!(sessions.kept(&headers), Some("xyz"));
        let mut longer = HeaderMap::new();
        longer.append(COOKIE, HeaderValue::from_static("talking_stick_session2=a"));
        assert_eq!(sessions.kept(&longer), None);
        let of_realm = PageSessions {
            suffix: "2".into(),
            ..PageSessions::default()
        };
        assert_eq!(of_realm.kept(&longer), Some("a"));
        assert_eq!(of_realm.kept(&headers), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_ends_when_it_is_idle_and_when_it_is_old() {
        let sessions = PageSessions::default();
        let ann = owner("ann");
        let idle = sessions.open(&ann).unwrap();
        let used = sessions.open(&ann).unwrap();
        let step = IDLE - Duration::from_secs(1);
        let ended = sessions.find(&of(&idle)).unwrap().ended.unwrap();
        for _ in 0..(LONGEST.as_secs() / step.as_secs()) {
            tokio::time::advance(step).await;
            assert!(sessions.find(&of(&used)).is_some());
        }
        assert!(sessions.find(&of(&idle)).is_none() && !ended.is_cancelled());
        tokio::time::advance(step).await;
        assert!(sessions.find(&of(&used)).is_none());
        sessions.sweep();
        assert!(ended.is_cancelled() && lock(&sessions.all).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_has_a_limit_of_sessions_and_ends_them_with_it() {
        let sessions = PageSessions::default();
        let (ann, ben) = (owner("ann"), owner("ben"));
        let bens = sessions.open(&ben).unwrap();
        let mut all = Vec::new();
        for _ in 0..=MAX_EACH {
            tokio::time::advance(Duration::from_secs(1)).await;
            all.push(sessions.open(&ann).unwrap());
        }
        assert!(sessions.find(&of(&all[0])).is_none());
        assert!(all[1..].iter().all(|one| sessions.find(&of(one)).is_some()));
        ann.ended.unwrap().cancel();
        assert!(all.iter().all(|one| sessions.find(&of(one)).is_none()));
        assert!(sessions.find(&of(&bens)).is_some());
        assert!(sessions.remove(&of(&bens)).is_some());
        assert!(sessions.find(&of(&bens)).is_none());
    }
}

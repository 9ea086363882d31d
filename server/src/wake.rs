//! `talking-stick wait` and `talking-stick wake`: until something is for a participant whose agent is
//! idle, and then a command that starts a turn of it.
//!
//! Both read the inbox by its reader id, which acknowledges nothing and ends no `check`. What they say is
//! fixed, and has no word of a participant. The last place of which an agent was told is its *mark*, in a
//! file: the command runs first, and then the mark is written. So after a crash between both the agent is
//! told once more, and never too little.

use std::cell::Cell;
use std::fmt;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::Value;
use server_chat::identity::{INBOX_URI, ReaderId};
use server_settings::cli::{InboxArgs, WaitArgs, WakeArgs};
use server_settings::os_error::reason;
use server_storage::private;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::relay::{FollowedInbox, Upstream, UpstreamError};

/// How long events are gathered before the inbox is read: one commit often posts several.
const GATHERED: Duration = Duration::from_millis(100);

/// The pause before a server that did not answer is asked again.
const PAUSE: Duration = Duration::from_secs(2);

/// How long an agent has to call `check` before the command runs a second time.
const AGAIN: Duration = Duration::from_secs(60);

/// The words of a mark.
const ONCE: &str = "once";
const TWICE: &str = "twice";

const HOUR: Duration = Duration::from_secs(3_600);

/// Why a command ended without news.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WakeError {
    /// The address or the inbox cannot be read.
    #[error("{0}")]
    Misused(String),
    #[error(transparent)]
    Server(#[from] UpstreamError),
    #[error("nothing came in time")]
    TimeRanOut,
    /// The file of the mark cannot be used.
    #[error("{}: {why}", path.display())]
    Mark { path: PathBuf, why: String },
}

/// The unread events that are for a participant: their number, and the place of the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct News {
    others: u64,
    seq: u64,
    /// The place of a grant that still lasts. One for a message that waited for it asks for nothing.
    granted: Option<u64>,
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, seq) = (self.count(), self.seq());
        write!(f, "Talking Stick: {count} new (seq {seq}). Call check.")
    }
}

impl News {
    /// Takes the next event of the inbox.
    fn add(&mut self, event: &Value) {
        let seq = event["seq"].as_u64();
        let is_mine = event["user"]["you"] == true;
        match event["type"].as_str().unwrap_or_default() {
            "stick.granted" if is_mine => self.granted = seq,
            "stick.released" | "stick.expired" if is_mine => self.granted = None,
            kind if is_for_reader(kind) => {
                self.others += 1;
                self.seq = seq.unwrap_or(self.seq);
            }
            _ => {}
        }
    }

    fn count(&self) -> u64 {
        self.others + u64::from(self.granted.is_some())
    }

    fn seq(&self) -> u64 {
        self.seq.max(self.granted.unwrap_or_default())
    }
}

/// Whether an event of this kind is for its reader, whomever it is about.
fn is_for_reader(kind: &str) -> bool {
    [
        "chatroom.found",
        "message.received",
        "partner.disconnected",
        "gap",
    ]
    .contains(&kind)
        || kind.starts_with("moderation.")
}

/// One inbox at a server.
struct Inbox {
    upstream: Upstream,
    reader: ReaderId,
    /// Whether it was read: a server that answered once is waited for.
    was_read: Cell<bool>,
}

impl Inbox {
    fn of(args: &InboxArgs) -> Result<Self, WakeError> {
        let uri = match args.inbox.contains("://") {
            true => args.inbox.clone(),
            false => format!("{INBOX_URI}{}", args.inbox),
        };
        let (reader, _) = ReaderId::from_inbox_uri(&uri).map_err(WakeError::Misused)?;
        let token = args.token.as_deref().filter(|token| !token.is_empty());
        let upstream = Upstream::at(&args.connect, token)
            .map_err(|why| WakeError::Misused(why.to_string()))?;
        Ok(Self {
            upstream,
            reader,
            was_read: Cell::new(false),
        })
    }

    /// What is unread and for the participant, and the place behind all that was read.
    async fn unread(&self) -> Result<(News, u64), UpstreamError> {
        let (mut news, mut cursor) = (News::default(), 0);
        let mut uri = self.reader.inbox_uri();
        loop {
            let page = self.upstream.inbox(&uri).await?;
            page["events"]
                .as_array()
                .into_iter()
                .flatten()
                .for_each(|event| news.add(event));
            let before = cursor;
            cursor = page["cursor"].as_u64().unwrap_or(cursor);
            if page["more"] != true || cursor <= before {
                self.was_read.set(true);
                return Ok((news, cursor));
            }
            uri = format!("{}?after={cursor}", self.reader.inbox_uri());
        }
    }

    /// Waits until something that may be for the participant comes behind this place. A stream that ends is
    /// an occasion to look, too.
    async fn rings(&self, cursor: u64) -> Result<(), UpstreamError> {
        let inbox = FollowedInbox::Subscribed(self.reader.clone());
        let mut events = self
            .upstream
            .events(&inbox, Some(&cursor.to_string()))
            .await?;
        while let Some(Ok(event)) = events.next().await {
            let kind = event.event.as_deref().unwrap_or_default();
            if event.id.is_some() && (is_for_reader(kind) || kind == "stick.granted") {
                sleep(GATHERED).await;
                return Ok(());
            }
        }
        sleep(PAUSE).await;
        Ok(())
    }

    /// Waits until the unread events are news behind this mark, and returns them; or those at the mark, when
    /// it is time to say them again.
    async fn news(&self, mark: u64, again: Option<Instant>) -> Result<News, WakeError> {
        loop {
            let looked = async {
                let (news, cursor) = self.unread().await?;
                if news.count() > 0
                    && (news.seq() > mark || again.is_some_and(|at| at <= Instant::now()))
                {
                    return Ok::<_, UpstreamError>(Some(news));
                }
                let again = again.filter(|_| news.count() > 0);
                tokio::select! {
                    rung = self.rings(cursor) => rung?,
                    () = until(again) => {}
                }
                Ok(None)
            };
            match looked.await {
                Ok(Some(news)) => return Ok(news),
                Ok(None) => {}
                Err(error) if error.is_final() || !self.was_read.get() => {
                    return Err(WakeError::Server(error));
                }
                Err(error) => {
                    tracing::debug!(%error, "the server does not answer now");
                    sleep(PAUSE).await;
                }
            }
        }
    }
}

/// Sleeps until this instant, or for ever.
async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Waits until something is for the participant, and returns what to say about it.
///
/// # Errors
/// The inbox cannot be read, or nothing came in time.
pub(crate) async fn wait(args: &WaitArgs) -> Result<String, WakeError> {
    let inbox = Inbox::of(&args.inbox)?;
    let came = inbox.news(args.after.unwrap_or_default(), None);
    let came = match args.within {
        Some(within) => timeout(Duration::from_micros(within.0), came)
            .await
            .map_err(|_| WakeError::TimeRanOut)?,
        None => came.await,
    };
    came.map(|news| news.to_string())
}

/// Runs a command each time that something is for the participant: once, and once more if its agent has not
/// checked a minute later.
///
/// # Errors
/// The inbox cannot be read, or the mark not be kept.
pub(crate) async fn wake(args: &WakeArgs, mut told: impl FnMut(&str)) -> Result<(), WakeError> {
    let inbox = Inbox::of(&args.inbox)?;
    let unusable = |error| WakeError::Mark {
        path: args.mark.clone(),
        why: reason(&error),
    };
    let (_alone, mut mark) = mark_in(&args.mark)?;
    let once_more = |mark: &Mark| (!mark.is_repeated).then(|| Instant::now() + AGAIN);
    let mut again = once_more(&mark);
    let mut knocks = Vec::new();
    loop {
        let news = inbox.news(mark.seq, again).await?;
        knocks.retain(|at: &Instant| at.elapsed() < HOUR);
        let is_limited = knocks.len() >= usize::from(args.per_hour);
        if let Some(first) = knocks.first().filter(|_| is_limited) {
            told(&format!(
                "the limit of {} an hour is reached: the next one waits",
                args.per_hour
            ));
            sleep_until(*first + HOUR).await;
            // It may have been read meanwhile.
            continue;
        }
        knocks.push(Instant::now());
        let text = news.to_string();
        told(&text);
        if let Err(why) = run(&args.run, &text).await {
            told(&why);
        }
        mark = Mark {
            is_repeated: news.seq() <= mark.seq,
            seq: news.seq(),
        };
        again = once_more(&mark);
        private::replace(&args.mark, mark.to_string().as_bytes()).map_err(unusable)?;
    }
}

/// Runs the command with the text in its place.
async fn run(command: &str, text: &str) -> Result<(), String> {
    let line = command.replace("{text}", text);
    let run = move || Command::new("sh").arg("-c").arg(line).status();
    match spawn_blocking(run)
        .await
        .unwrap_or_else(|lost| Err(lost.into()))
    {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the command ended with {status}")),
        Err(error) => Err(format!("the command did not start: {}", reason(&error))),
    }
}

/// The last place of which an agent was told, and whether it was told twice. In its file: `17 once`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mark {
    seq: u64,
    is_repeated: bool,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = if self.is_repeated { TWICE } else { ONCE };
        writeln!(f, "{} {times}", self.seq)
    }
}

impl Mark {
    fn parse(text: &str) -> Option<Self> {
        let (seq, times) = text.trim_end().split_once(' ')?;
        [ONCE, TWICE].contains(&times).then_some(())?;
        Some(Self {
            seq: seq.parse().ok()?,
            is_repeated: times == TWICE,
        })
    }
}

/// The mark in this file, the first one without it; and a lock, because one waker at a time uses it.
fn mark_in(path: &Path) -> Result<(File, Mark), WakeError> {
    let unusable = |why| WakeError::Mark {
        path: path.to_owned(),
        why,
    };
    let wrong = |error| unusable(reason(&error));
    let mut options = File::options();
    let lock = private::open(
        &path.with_added_extension("lock"),
        options.write(true).create(true),
    );
    let lock = lock.map_err(wrong)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(unusable(
                "another `wake` uses it: stop that one first".into(),
            ));
        }
        Err(TryLockError::Error(error)) => return Err(wrong(error)),
    }
    let mark = match private::read(path) {
        Ok(bytes) => Mark::parse(&String::from_utf8_lossy(&bytes)).ok_or_else(|| {
            unusable("it is no mark: remove it, and unread events are told again".into())
        })?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Mark::default(),
        Err(error) => return Err(wrong(error)),
    };
    Ok((lock, mark))
}

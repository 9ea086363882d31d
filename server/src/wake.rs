//! `talking-stick wait` and `talking-stick wake`: until something is for a participant whose agent is
//! idle, and then a command that starts a turn of it.
//!
//! Both read the inbox by its reader id, which acknowledges nothing and ends no `check`. Both print one fixed
//! sentence, which never contains a participant's words. [`Waker`] decides when to notify the agent, and a
//! file stores its mark.

use std::cell::Cell;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use chat_core::{Mark, News, RoomId, Seq, Time, Waker, WakerEffect};
use futures_util::StreamExt as _;
use serde::Deserialize as _;
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

/// The words of a mark.
const ONCE: &str = "once";
const TWICE: &str = "twice";

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

/// The sentence that notifies an agent of this news.
fn said(news: &News) -> String {
    let (count, seq) = (news.count(), news.last());
    format!("Talking Stick: {count} new (seq {seq}). Call check.")
}

/// Adds an event of an inbox, as the server shows it, unless it is a message to others.
fn add(news: &mut News, event: &Value) {
    let to = event["to"].as_array();
    if to.is_some_and(|to| to.iter().all(|who| who["you"] != true)) {
        return;
    }
    let seq = Seq(event["seq"].as_u64().unwrap_or_default());
    let kind = event["type"].as_str().unwrap_or_default();
    let room = RoomId::deserialize(&event["room_id"]).unwrap_or_default();
    news.add(seq, kind, room, event["user"]["you"] == true);
}

/// One inbox at a server.
struct Inbox {
    upstream: Upstream,
    reader: ReaderId,
    /// The instant from which the waker measures time.
    began: Instant,
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
            began: Instant::now(),
            was_read: Cell::new(false),
        })
    }

    fn now(&self) -> Time {
        let since = self.began.elapsed().as_micros();
        Time(u64::try_from(since).unwrap_or(u64::MAX))
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
                .for_each(|event| add(&mut news, event));
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
            if event.id.is_some() && News::can_be(kind) {
                sleep(GATHERED).await;
                return Ok(());
            }
        }
        sleep(PAUSE).await;
        Ok(())
    }

    /// Watches the inbox until the waker wants something done.
    async fn next_effect(&self, waker: &mut Waker) -> Result<WakerEffect, WakeError> {
        loop {
            if let Some(effect) = waker.poll_effect() {
                return Ok(effect);
            }
            let looked = async {
                let (news, cursor) = self.unread().await?;
                waker.handle_unread(self.now(), news);
                let effect = waker.poll_effect();
                if effect.is_none() {
                    tokio::select! {
                        rung = self.rings(cursor) => rung?,
                        () = self.until(waker.poll_timeout()) => {}
                    }
                }
                Ok::<_, UpstreamError>(effect)
            };
            match looked.await {
                Ok(Some(effect)) => return Ok(effect),
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

    /// Sleeps until this instant, or for ever.
    async fn until(&self, at: Option<Time>) {
        match at {
            Some(at) => sleep_until(self.began + Duration::from_micros(at.0)).await,
            None => std::future::pending().await,
        }
    }
}

/// Waits until something is for the participant, and returns what to say about it.
///
/// # Errors
/// The inbox cannot be read, or nothing came in time.
pub(crate) async fn wait(args: &WaitArgs) -> Result<String, WakeError> {
    let inbox = Inbox::of(&args.inbox)?;
    let mark = Mark {
        seq: Seq(args.after.unwrap_or_default()),
        is_repeated: true,
    };
    let mut waker = Waker::new(inbox.now(), mark, 1);
    let came = async {
        loop {
            if let WakerEffect::Knock(news) = inbox.next_effect(&mut waker).await? {
                return Ok(said(&news));
            }
        }
    };
    match args.within {
        Some(within) => timeout(Duration::from_micros(within.0), came)
            .await
            .map_err(|_| WakeError::TimeRanOut)?,
        None => came.await,
    }
}

/// Runs a command each time that something is for the participant, as [`Waker`] decides.
///
/// # Errors
/// The inbox cannot be read, or the mark not be kept.
pub(crate) async fn wake(args: &WakeArgs, mut told: impl FnMut(&str)) -> Result<(), WakeError> {
    let inbox = Inbox::of(&args.inbox)?;
    let (_alone, mark) = mark_in(&args.mark)?;
    let mut waker = Waker::new(inbox.now(), mark, args.per_hour);
    loop {
        match inbox.next_effect(&mut waker).await? {
            WakerEffect::Limited => told(&format!(
                "the limit of {} an hour is reached: the next one waits",
                args.per_hour
            )),
            WakerEffect::Knock(news) => {
                let text = said(&news);
                told(&text);
                if let Err(why) = run(&args.run, &text).await {
                    told(&why);
                }
                waker.handle_knocked(inbox.now());
            }
            WakerEffect::Keep(mark) => {
                let kept = private::replace(&args.mark, written(mark).as_bytes());
                kept.map_err(|error| WakeError::Mark {
                    path: args.mark.clone(),
                    why: reason(&error),
                })?;
            }
        }
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

/// A mark as its file has it: `17 once`.
fn written(mark: Mark) -> String {
    let times = if mark.is_repeated { TWICE } else { ONCE };
    format!("{} {times}\n", mark.seq)
}

fn parsed(text: &str) -> Option<Mark> {
    let (seq, times) = text.trim_end().split_once(' ')?;
    [ONCE, TWICE].contains(&times).then_some(())?;
    Some(Mark {
        seq: Seq(seq.parse().ok()?),
        is_repeated: times == TWICE,
    })
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
        Ok(bytes) => parsed(&String::from_utf8_lossy(&bytes)).ok_or_else(|| {
            unusable("it is no mark: remove it, and unread events are told again".into())
        })?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Mark::default(),
        Err(error) => return Err(wrong(error)),
    };
    Ok((lock, mark))
}

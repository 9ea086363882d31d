//! `talking-stick wait` and `talking-stick wake`: until something is for a participant whose agent is
//! idle, and then a *door*, which starts a turn of it: a command, the hook of an agent's program, or the
//! queue of Codex.
//!
//! All read the inbox by its reader id, which acknowledges nothing and ends no `check`. All say one fixed
//! sentence, which never contains a participant's words. [`Waker`] decides when to notify the agent, and a
//! file stores its mark.

pub(crate) mod codex;
mod hook;
mod print;
mod session;

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use chat_core::{Mark, News, RoomId, Seq, Time, Unread, Waker, WakerEffect};
use futures_util::StreamExt as _;
use serde::Deserialize as _;
use serde_json::Value;
use server_chat::identity::{INBOX_URI, ReaderId};
use server_settings::cli::{InboxServerArgs, KnockLimit, WaitArgs, WakeArgs};
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

impl WakeError {
    fn unusable(path: &Path, error: &io::Error) -> Self {
        Self::Mark {
            path: path.to_owned(),
            why: reason(error),
        }
    }
}

/// The sentence that notifies an agent of this news.
fn said(news: &News) -> String {
    let (count, seq) = (news.count(), news.last());
    format!("Talking Stick: {count} new (seq {seq}). Call check.")
}

/// Adds an event of an inbox, as the server shows it.
fn add(news: &mut News, event: &Value) {
    let to = event["to"].as_array();
    news.add(Unread {
        seq: Seq(event["seq"].as_u64().unwrap_or_default()),
        kind: event["type"].as_str().unwrap_or_default(),
        room: RoomId::deserialize(&event["room_id"]).unwrap_or_default(),
        is_about_reader: event["user"]["you"] == true,
        is_to_others: to.is_some_and(|to| to.iter().all(|who| who["you"] != true)),
    });
}

/// One inbox at a server.
struct Inbox {
    upstream: Upstream,
    reader: ReaderId,
    /// Whether it was read: a server that answered once is waited for.
    was_read: AtomicBool,
}

impl Inbox {
    /// The inbox with this address, or with this reader id.
    fn at(upstream: Upstream, inbox: &str) -> Result<Self, WakeError> {
        let uri = match inbox.contains("://") {
            true => inbox,
            false => &format!("{INBOX_URI}{inbox}"),
        };
        let (reader, _) = ReaderId::from_inbox_uri(uri).map_err(WakeError::Misused)?;
        Ok(Self {
            upstream,
            reader,
            was_read: AtomicBool::new(false),
        })
    }

    fn of(server: &InboxServerArgs, inbox: &str) -> Result<Self, WakeError> {
        let token = server.token.as_deref().filter(|token| !token.is_empty());
        let upstream = Upstream::at(&server.connect, token)
            .map_err(|why| WakeError::Misused(why.to_string()))?;
        Self::at(upstream, inbox)
    }

    /// Whether the participant is in a room.
    async fn is_in_a_room(&self) -> Result<bool, UpstreamError> {
        let page = self.upstream.inbox(&self.reader.inbox_uri()).await?;
        Ok(page["rooms"]
            .as_array()
            .is_some_and(|rooms| !rooms.is_empty()))
    }
}

/// Where news come from.
trait NewsSource {
    /// What is unread and for the participant, and the place behind all that was read.
    fn unread(&self) -> impl Future<Output = Result<(News, u64), UpstreamError>> + Send;

    /// Waits until something that may be for the participant comes behind this place.
    fn rings(&self, cursor: u64) -> impl Future<Output = Result<(), UpstreamError>> + Send;

    /// Whether it was read: a server that answered once is waited for.
    fn was_read(&self) -> bool;
}

impl NewsSource for Inbox {
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
                self.was_read.store(true, Ordering::Relaxed);
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

    fn was_read(&self) -> bool {
        self.was_read.load(Ordering::Relaxed)
    }
}

/// The waker of one agent, and the time that it is told: since 1970, because a later process goes on with
/// the times of its knocks.
#[derive(Debug)]
struct Watch {
    waker: Waker,
    per_hour: u16,
    began: (Instant, Time),
}

impl Watch {
    /// A waker that goes on behind this mark, and after these knocks of former processes.
    fn new(mark: Mark, knocks: impl IntoIterator<Item = Time>, limit: KnockLimit) -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let since = since.map_or(0, |since| since.as_micros());
        let now = Time(u64::try_from(since).unwrap_or(u64::MAX));
        let mut waker = Waker::new(now, mark, limit.per_hour);
        waker.remember_knocks(now, knocks);
        Self {
            waker,
            per_hour: limit.per_hour,
            began: (Instant::now(), now),
        }
    }

    fn now(&self) -> Time {
        let since = self.began.0.elapsed().as_micros();
        Time(
            self.began
                .1
                .0
                .saturating_add(u64::try_from(since).unwrap_or(u64::MAX)),
        )
    }

    /// Waits until the agent is to be told of something.
    async fn waits(
        &mut self,
        source: &impl NewsSource,
        told: Lines<'_>,
    ) -> Result<News, WakeError> {
        loop {
            match self.waker.poll_effect() {
                Some(WakerEffect::Knock(news)) => return Ok(news),
                Some(WakerEffect::Limited) => told(&format!(
                    "the limit of {} an hour is reached: the next one waits",
                    self.per_hour
                )),
                Some(WakerEffect::Keep(_)) => {}
                None => self.look(source).await?,
            }
        }
    }

    /// Looks into the inbox. If there is nothing to do, waits until something comes or it is time.
    async fn look(&mut self, source: &impl NewsSource) -> Result<(), WakeError> {
        let looked = async {
            let (news, cursor) = source.unread().await?;
            self.waker.handle_unread(self.now(), news);
            if !self.waker.has_effects() {
                let due = self.waker.poll_timeout();
                let due =
                    due.map(|at| self.began.0 + Duration::from_micros(at.since(self.began.1).0));
                tokio::select! {
                    rung = source.rings(cursor) => rung?,
                    () = until(due) => {}
                }
            }
            Ok::<_, UpstreamError>(())
        };
        match looked.await {
            Err(error) if error.is_final() || !source.was_read() => Err(WakeError::Server(error)),
            Err(error) => {
                tracing::debug!(%error, "the server does not answer now");
                sleep(PAUSE).await;
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Records that the agent was told. Returns the mark to keep.
    fn told(&mut self) -> Mark {
        self.waker.handle_knocked(self.now());
        self.waker.mark()
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
    let inbox = Inbox::of(&args.server, &args.inbox)?;
    let mark = Mark {
        seq: Seq(args.after.unwrap_or_default()),
        is_repeated: true,
    };
    let mut watch = Watch::new(mark, [], KnockLimit { per_hour: 1 });
    let mut told = |_: &str| {};
    let came = watch.waits(&inbox, &mut told);
    let came = match args.within {
        Some(within) => timeout(Duration::from_micros(within.0), came)
            .await
            .map_err(|_| WakeError::TimeRanOut)?,
        None => came.await,
    };
    came.map(|news| said(&news))
}

/// How the process of `wake` ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Its program goes on as if there had been none.
    Silent,
    /// Its program lets the agent go on, with what is on standard error.
    AgentGoesOn,
}

/// Takes lines for somebody.
type Lines<'a> = &'a mut (dyn FnMut(&str) + Send);

/// Wakes an agent by the door of these arguments. `told` takes lines for standard error, `say` for
/// standard output.
///
/// # Errors
/// The arguments do not fit, the inbox cannot be read, or the mark not be kept.
pub(crate) async fn wake(
    args: &WakeArgs,
    told: Lines<'_>,
    say: Lines<'_>,
) -> Result<Ended, WakeError> {
    if let Some(program) = args.print {
        say(&print::text(program, &args.server.connect));
        return Ok(Ended::Silent);
    }
    if let Some(program) = args.hook {
        return hook::run(program, args, told, say).await;
    }
    let (Some(inbox), Some(command), Some(mark)) = (&args.inbox, &args.run, &args.mark) else {
        return Err(WakeError::Misused("--run takes an inbox and --mark".into()));
    };
    let inbox = Inbox::of(&args.server, inbox)?;
    let (_alone, kept) = mark_in(mark)?;
    let mut watch = Watch::new(kept, [], args.limit);
    loop {
        let text = said(&watch.waits(&inbox, told).await?);
        told(&text);
        if let Err(why) = run(command, &text).await {
            told(&why);
        }
        private::replace(mark, written(watch.told()).as_bytes())
            .map_err(|error| WakeError::unusable(mark, &error))?;
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
    let wrong = |error| WakeError::unusable(path, &error);
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// News that come at their times, and are never read.
    struct Arrivals(Vec<Instant>);

    impl Arrivals {
        /// One at each of these seconds from now, with the places 1, 2, 3 and so on.
        fn at(seconds: impl IntoIterator<Item = u64>) -> Self {
            let now = Instant::now();
            let all = seconds.into_iter();
            Self(all.map(|at| now + Duration::from_secs(at)).collect())
        }
    }

    impl NewsSource for Arrivals {
        async fn unread(&self) -> Result<(News, u64), UpstreamError> {
            let now = Instant::now();
            let (mut news, mut last) = (News::default(), 0);
            for (_, seq) in self.0.iter().zip(1..).filter(|(at, _)| **at <= now) {
                add(
                    &mut news,
                    &json!({ "type": "message.received", "seq": seq }),
                );
                last = seq;
            }
            Ok((news, last))
        }

        async fn rings(&self, cursor: u64) -> Result<(), UpstreamError> {
            let next = self.0.iter().zip(1..).find(|(_, seq)| *seq > cursor);
            until(next.map(|(at, _)| *at)).await;
            Ok(())
        }

        fn was_read(&self) -> bool {
            true
        }
    }

    /// When the agent is told of what, in seconds from now, until nothing is said for a day.
    async fn told(mut watch: Watch, arrivals: &Arrivals) -> (Vec<(u64, u64)>, Vec<String>) {
        let began = Instant::now();
        let (mut told, mut lines) = (Vec::new(), Vec::new());
        loop {
            let mut line = |line: &str| lines.push(line.to_owned());
            let day = Duration::from_secs(86_400);
            let waited = timeout(day, watch.waits(arrivals, &mut line)).await;
            let Ok(news) = waited.map(|news| news.expect("nothing fails here")) else {
                return (told, lines);
            };
            watch.told();
            told.push((began.elapsed().as_secs(), news.last().0));
        }
    }

    fn watch(mark: &str, per_hour: u16) -> Watch {
        let mark = parsed(mark).expect("a mark");
        Watch::new(mark, [], KnockLimit { per_hour })
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_is_told_once_more_a_minute_later_and_then_of_news_alone() {
        let arrivals = Arrivals::at([5, 7_200]);
        let (said, lines) = told(watch("0 once", 30), &arrivals).await;
        assert_eq!(said, [(5, 1), (65, 1), (7_200, 2), (7_260, 2)]);
        assert!(lines.is_empty(), "{lines:?}");
        // The next process goes on by the mark.
        let (said, _) = told(watch("2 once", 30), &arrivals).await;
        assert_eq!(said, [(60, 2)]);
        let (said, _) = told(watch("2 twice", 30), &arrivals).await;
        assert_eq!(said, []);
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_of_an_hour_delays_the_next_one() {
        let arrivals = Arrivals::at(0..100);
        let (said, lines) = told(watch("0 once", 3), &arrivals).await;
        // The fourth is of all that came meanwhile.
        assert_eq!(said, [(0, 1), (1, 2), (2, 3), (3_600, 100), (3_660, 100)]);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("the limit of 3 an hour"), "{lines:?}");
    }
}

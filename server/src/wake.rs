//! `talking-stick wait` and `talking-stick wake`: until something is for a participant whose agent is
//! idle, and then a *door*, which starts a turn of it: a command, the hook of an agent's program, or the
//! queue of Codex.
//!
//! All read the inbox by its reader id, which acknowledges nothing and ends no `check`. What they say is
//! fixed, and has no word of a participant. The last place of which an agent was told is its *mark*, in a
//! file: the agent is told first, and then the mark is written. So after a crash between both it is told
//! once more, and never too little.

pub(crate) mod codex;
mod hook;
mod print;
mod session;

use std::fmt;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
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

impl WakeError {
    fn unusable(path: &Path, error: &io::Error) -> Self {
        Self::Mark {
            path: path.to_owned(),
            why: reason(error),
        }
    }
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
            if event.id.is_some() && (is_for_reader(kind) || kind == "stick.granted") {
                sleep(GATHERED).await;
                return Ok(());
            }
        }
        sleep(PAUSE).await;
        Ok(())
    }
}

/// Where news come from.
trait NewsSource {
    /// Waits until the unread events are news behind this mark, and returns them; or those at the mark, when
    /// it is time to say them again.
    fn news(
        &self,
        mark: u64,
        again: Option<Instant>,
    ) -> impl Future<Output = Result<News, WakeError>> + Send;
}

impl NewsSource for Inbox {
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
                Err(error) if error.is_final() || !self.was_read.load(Ordering::Relaxed) => {
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
    let inbox = Inbox::of(&args.server, &args.inbox)?;
    let came = inbox.news(args.after.unwrap_or_default(), None);
    let came = match args.within {
        Some(within) => timeout(Duration::from_micros(within.0), came)
            .await
            .map_err(|_| WakeError::TimeRanOut)?,
        None => came.await,
    };
    came.map(|news| news.to_string())
}

/// Decides when an agent is told: once of what it has not read, and once more if it has not checked a
/// minute later.
#[derive(Debug)]
struct Waker {
    mark: Mark,
    /// When the agent is told again of what is at its mark.
    again: Option<Instant>,
    /// When it was told in the last hour, in order.
    knocks: Vec<Instant>,
    per_hour: u16,
}

impl Waker {
    fn new(mark: Mark, knocks: Vec<Instant>, limit: KnockLimit) -> Self {
        Self {
            mark,
            again: mark.again(),
            knocks,
            per_hour: limit.per_hour,
        }
    }

    /// Waits until the agent is to be told of something.
    async fn waits(
        &mut self,
        source: &impl NewsSource,
        told: Lines<'_>,
    ) -> Result<News, WakeError> {
        loop {
            let news = source.news(self.mark.seq, self.again).await?;
            self.knocks.retain(|at| at.elapsed() < HOUR);
            let is_limited = self.knocks.len() >= usize::from(self.per_hour);
            let Some(first) = self.knocks.first().filter(|_| is_limited) else {
                return Ok(news);
            };
            told(&format!(
                "the limit of {} an hour is reached: the next one waits",
                self.per_hour
            ));
            // It may have been read meanwhile.
            sleep_until(*first + HOUR).await;
        }
    }

    /// Records that the agent was told of this.
    fn told(&mut self, news: News) {
        self.knocks.push(Instant::now());
        self.mark = Mark {
            is_repeated: news.seq() <= self.mark.seq,
            seq: news.seq(),
        };
        self.again = self.mark.again();
    }
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
    let mut waker = Waker::new(kept, Vec::new(), args.limit);
    loop {
        let news = waker.waits(&inbox, told).await?;
        let text = news.to_string();
        told(&text);
        if let Err(why) = run(command, &text).await {
            told(&why);
        }
        waker.told(news);
        private::replace(mark, waker.mark.to_string().as_bytes())
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
    /// When it is time to tell the agent again.
    fn again(self) -> Option<Instant> {
        (!self.is_repeated).then(|| Instant::now() + AGAIN)
    }

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
        Ok(bytes) => Mark::parse(&String::from_utf8_lossy(&bytes)).ok_or_else(|| {
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
    struct Arrivals(Vec<(Instant, News)>);

    impl Arrivals {
        /// One at each of these seconds from now, with the places 1, 2, 3 and so on.
        fn at(seconds: impl IntoIterator<Item = u64>) -> Self {
            let now = Instant::now();
            let all = seconds.into_iter().zip(1..).map(|(seconds, seq)| {
                let mut news = News::default();
                news.add(&json!({ "type": "message.received", "seq": seq }));
                (now + Duration::from_secs(seconds), news)
            });
            Self(all.collect())
        }
    }

    impl NewsSource for Arrivals {
        async fn news(&self, mark: u64, again: Option<Instant>) -> Result<News, WakeError> {
            loop {
                let now = Instant::now();
                let come = self.0.iter().rfind(|(at, _)| *at <= now);
                let next = self.0.iter().map(|(at, _)| *at).find(|at| *at > now);
                let again = again.filter(|_| come.is_some());
                match come {
                    Some((_, news)) if news.seq() > mark || again.is_some_and(|at| at <= now) => {
                        return Ok(*news);
                    }
                    _ => until(again.into_iter().chain(next).min()).await,
                }
            }
        }
    }

    /// When the agent is told of what, in seconds from now, until nothing is said for a day.
    async fn told(mut waker: Waker, arrivals: &Arrivals) -> (Vec<(u64, u64)>, Vec<String>) {
        let began = Instant::now();
        let (mut told, mut lines) = (Vec::new(), Vec::new());
        loop {
            let mut line = |line: &str| lines.push(line.to_owned());
            let waited = timeout(24 * HOUR, waker.waits(arrivals, &mut line)).await;
            let Ok(news) = waited.map(|news| news.expect("nothing fails here")) else {
                return (told, lines);
            };
            waker.told(news);
            told.push((began.elapsed().as_secs(), news.seq()));
        }
    }

    fn waker(mark: &str, per_hour: u16) -> Waker {
        let mark = Mark::parse(mark).expect("a mark");
        Waker::new(mark, Vec::new(), KnockLimit { per_hour })
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_is_told_once_more_a_minute_later_and_then_of_news_alone() {
        let arrivals = Arrivals::at([5, 7_200]);
        let (said, lines) = told(waker("0 once", 30), &arrivals).await;
        assert_eq!(said, [(5, 1), (65, 1), (7_200, 2), (7_260, 2)]);
        assert!(lines.is_empty(), "{lines:?}");
        // The next process goes on by the mark.
        let (said, _) = told(waker("2 once", 30), &arrivals).await;
        assert_eq!(said, [(60, 2)]);
        let (said, _) = told(waker("2 twice", 30), &arrivals).await;
        assert_eq!(said, []);
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_of_an_hour_delays_the_next_one() {
        let arrivals = Arrivals::at(0..100);
        let (said, lines) = told(waker("0 once", 3), &arrivals).await;
        // The fourth is of all that came meanwhile.
        assert_eq!(said, [(0, 1), (1, 2), (2, 3), (3_600, 100), (3_660, 100)]);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("the limit of 3 an hour"), "{lines:?}");
    }
}

//! The door of Codex: its queue, to which the relay of a session adds a message when something is for the
//! session's agent. Each call of Codex names its thread, so there is nothing to set up.
//!
//! The queue keeps a message until Codex starts a turn with it: at once if it is idle, otherwise after its
//! turn. So nothing is added while the agent calls tools, nor before it has called one since the last
//! message.

use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::JsonObject;
use serde_json::Value;
use server_chat::task;
use server_settings::cli::{KnockLimit, StdioArgs};
use server_settings::os_error::reason;
use server_storage::lock;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::session::{AgentSession, Before};
use super::{Inbox, News, NewsSource, WakeError, said};
use crate::relay::{CallObserver, Upstream, UpstreamError};

/// The door of one relay.
#[derive(Debug)]
pub(crate) struct CodexDoor(Arc<Door>);

#[derive(Debug)]
struct Door {
    upstream: Upstream,
    idle_after: Duration,
    limit: KnockLimit,
    calls: watch::Sender<Calls>,
    watched: Mutex<Watched>,
}

/// Whom a door wakes.
#[derive(Debug, Default)]
struct Watched {
    /// The thread of the last call.
    thread: Box<str>,
    inbox: Box<str>,
    /// To be cancelled when another inbox is watched.
    ends: CancellationToken,
}

/// The calls of tools of a relay.
#[derive(Clone, Copy, Debug)]
struct Calls {
    begun: u64,
    going_on: u64,
    last_ended: Instant,
}

impl Calls {
    /// When Codex counts as idle, if it calls nothing meanwhile. None while it calls, or before it has
    /// called since this many calls had begun.
    fn idle_at(self, idle_after: Duration, queued: Option<u64>) -> Option<Instant> {
        let is_waited_for = queued.is_some_and(|begun| self.begun <= begun);
        (self.going_on == 0 && !is_waited_for).then(|| self.last_ended + idle_after)
    }
}

impl CodexDoor {
    /// The door to a client of this server by these arguments, if they want one.
    pub(crate) fn of(args: &StdioArgs, upstream: &Upstream) -> Option<Self> {
        args.wake_codex.then(|| {
            Self(Arc::new(Door {
                upstream: upstream.clone(),
                idle_after: Duration::from_micros(args.idle_after.0),
                limit: args.limit,
                calls: watch::Sender::new(Calls {
                    begun: 0,
                    going_on: 0,
                    last_ended: Instant::now(),
                }),
                watched: Mutex::default(),
            }))
        })
    }
}

impl CallObserver for CodexDoor {
    fn on_call(&self, meta: &JsonObject) {
        // Another client's calls name no thread.
        if let Some(thread) = meta.get("threadId").and_then(Value::as_str) {
            lock(&self.0.watched).thread = thread.into();
        }
        self.0.calls.send_modify(|calls| {
            calls.begun += 1;
            calls.going_on += 1;
        });
    }

    fn on_call_end(&self) {
        self.0.calls.send_modify(|calls| {
            calls.going_on -= 1;
            calls.last_ended = Instant::now();
        });
    }

    fn on_registration(&self, inbox: &str, gone: &CancellationToken) {
        let mut watched = lock(&self.0.watched);
        if watched.thread.is_empty() || *watched.inbox == *inbox {
            return;
        }
        let ends = gone.child_token();
        std::mem::replace(&mut watched.ends, ends.clone()).cancel();
        watched.inbox = inbox.into();
        let (thread, inbox) = (watched.thread.clone(), watched.inbox.clone());
        let door = Arc::clone(&self.0);
        task::spawn(async move {
            tokio::select! {
                ended = door.watch(&thread, &inbox) => {
                    if let Err(why) = ended {
                        tracing::warn!("Codex is not woken any more: {why}");
                    }
                }
                () = ends.cancelled() => {}
            }
        });
    }
}

impl Door {
    /// Adds to the queue of this thread what is for the participant with this inbox.
    async fn watch(&self, thread: &str, inbox: &str) -> Result<(), WakeError> {
        let mut session = AgentSession::take(("codex", thread), Before::Stays).await?;
        session.register(inbox)?;
        let inbox = Inbox::at(self.upstream.clone(), inbox)?;
        let mut watch = session.watch(self.limit);
        let mut queued = None;
        loop {
            self.idle(queued.take()).await;
            let mut told = |line: &str| tracing::warn!("{line}");
            let idle = WhileIdle {
                door: self,
                inbox: &inbox,
            };
            let text = said(&watch.waits(&idle, &mut told).await?);
            let begun = self.calls.borrow().begun;
            match queue(thread, text.clone()).await {
                Ok(()) => {
                    tracing::info!(thread, text, "queued, which Codex starts a turn with");
                    queued = Some(begun);
                }
                Err(why) => tracing::warn!(thread, "Codex is not woken: {why}"),
            }
            session.remember(&mut watch)?;
        }
    }

    /// Waits until Codex is idle, and has called a tool since this many calls had begun.
    async fn idle(&self, queued: Option<u64>) {
        let mut calls = self.calls.subscribe();
        loop {
            let now = *calls.borrow_and_update();
            let at = now.idle_at(self.idle_after, queued);
            if at.is_some_and(|at| at <= Instant::now()) {
                if queued.is_some() {
                    tracing::info!("woken: Codex has called since");
                }
                return;
            }
            tokio::select! {
                // The sender is this door's own.
                _ = calls.changed() => {}
                () = super::until(at) => {}
            }
        }
    }
}

/// An inbox that is looked into while Codex is idle: otherwise it reads by itself.
struct WhileIdle<'a> {
    door: &'a Door,
    inbox: &'a Inbox,
}

impl NewsSource for WhileIdle<'_> {
    async fn unread(&self) -> Result<(News, u64), UpstreamError> {
        self.door.idle(None).await;
        self.inbox.unread().await
    }

    async fn rings(&self, cursor: u64) -> Result<(), UpstreamError> {
        self.inbox.rings(cursor).await
    }

    fn was_read(&self) -> bool {
        self.inbox.was_read()
    }
}

/// Adds a message to the queue of a thread, and loads the thread if nothing has.
async fn queue(thread: &str, text: String) -> Result<(), String> {
    let mut command = Command::new("codex");
    command.args(["queue", "--resume", "--thread", thread, "--message", &text]);
    // Standard output is the client's.
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let run = move || command.stderr(Stdio::piped()).output();
    match spawn_blocking(run)
        .await
        .unwrap_or_else(|lost| Err(lost.into()))
    {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let why = String::from_utf8_lossy(&output.stderr);
            let why: String = why.trim().chars().take(MAX_WHY).collect();
            Err(format!("codex queue ended with {}: {why}", output.status))
        }
        Err(error) => Err(format!("codex did not start: {}", reason(&error))),
    }
}

/// The most characters of an error of Codex that are logged.
const MAX_WHY: usize = 500;

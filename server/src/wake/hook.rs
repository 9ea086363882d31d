//! The hook of an agent's program. The program runs it after calls of tools, and at the end of each turn.
//! From the result of a registration it learns the inbox of the session; at the end of a turn it waits for
//! news, and lets the agent go on with them.
//!
//! Both are told apart by the JSON on standard input, which names the session, too.

use std::io::Read as _;
use std::os::unix::process::parent_id;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use server_chat::identity::{INBOX_URI, ReaderId};
use server_settings::cli::{HookProgram, WakeArgs};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use super::session::{AgentSession, Before, is_known};
use super::{Ended, Inbox, Lines, News, NewsSource as _, WakeError, Watch, said};
use crate::relay::UpstreamError;

/// The most bytes of an input: a result of a tool may be long.
const MAX_INPUT: u64 = 8 << 20;

/// How often a hook looks whether its program is still there.
const LOOK: Duration = Duration::from_secs(5);

/// What a program says about itself when it runs a hook.
#[derive(Debug, Deserialize)]
struct Event {
    hook_event_name: String,
    session_id: String,
    /// The agent within the session, unless it is the session's own.
    #[serde(default)]
    agent_id: Value,
    #[serde(default)]
    tool_name: String,
    #[serde(default)]
    tool_response: Value,
}

/// The ends of the names of the tools by which an agent leaves, as programs name them.
const LEAVING: [&str; 2] = ["leave_chat", "leave_queue"];

/// The name of a program in the names of its sessions' files.
fn name_of(program: HookProgram) -> &'static str {
    match program {
        HookProgram::Claude => "claude",
        HookProgram::Gemini => "gemini",
        HookProgram::Opencode => "opencode",
    }
}

/// Runs the hook. `say` takes what the program reads on standard output, `told` on standard error.
///
/// # Errors
/// The input is none of a hook, or the inbox or the session's file cannot be used.
pub(super) async fn run(
    program: HookProgram,
    args: &WakeArgs,
    told: Lines<'_>,
    say: Lines<'_>,
) -> Result<Ended, WakeError> {
    let mut input = Vec::new();
    let read = std::io::stdin().take(MAX_INPUT).read_to_end(&mut input);
    let event = read
        .map_err(|error| error.to_string())
        .and_then(|_| serde_json::from_slice::<Event>(&input).map_err(|error| error.to_string()));
    let event = event.map_err(|why| {
        WakeError::Misused(format!(
            "a program runs --hook, with JSON on standard input: {why}"
        ))
    })?;
    let session = (name_of(program), &*event.session_id);
    match &*event.hook_event_name {
        // Who works for the session's agent ends before its turn does.
        "PostToolUse" | "AfterTool" if event.agent_id.is_null() => {
            if let Some(inbox) = inbox_in(&event.tool_response) {
                // A handle that is not used in a minute is forgotten. This is a use, or else the end of the turn is.
                let read = Inbox::of(&args.server, &inbox)?;
                let mut session = AgentSession::take(session, Before::Ends).await?;
                session.register(&inbox)?;
                let _ = read.unread().await;
            } else if LEAVING.iter().any(|tool| event.tool_name.ends_with(tool))
                && is_known(session.0, session.1)?
            {
                let mut session = AgentSession::take(session, Before::Ends).await?;
                session.leave()?;
            }
        }
        "Stop" | "AfterAgent" if is_known(session.0, session.1)? => {
            let mut session = AgentSession::take(session, Before::Ends).await?;
            let mut watch = session.watch(args.limit);
            return match news(&session, &mut watch, args, told).await {
                Ok(Some(news)) => {
                    let ended = let_go_on(program, &news, &watch, told, say);
                    session.remember(&mut watch)?;
                    Ok(ended)
                }
                Ok(None) => Ok(Ended::Silent),
                // The participant was unregistered, or forgotten.
                Err(WakeError::Server(UpstreamError::Rpc(_))) => {
                    session.forget()?;
                    Ok(Ended::Silent)
                }
                Err(error) => Err(error),
            };
        }
        _ => {}
    }
    Ok(Ended::Silent)
}

/// Waits for what the agent is to be told of; none if it has left, a newer hook waits now, or the program
/// is gone.
async fn news(
    session: &AgentSession,
    watch: &mut Watch,
    args: &WakeArgs,
    told: Lines<'_>,
) -> Result<Option<News>, WakeError> {
    let mut ended =
        signal(SignalKind::terminate()).map_err(|error| WakeError::Misused(error.to_string()))?;
    let inbox = Inbox::of(&args.server, session.inbox())?;
    // The server was there when the agent registered: it is waited for.
    inbox.was_read.store(true, Ordering::Relaxed);
    let waits = async {
        if session.has_left() && !inbox.is_in_a_room().await? {
            return Ok(None);
        }
        watch.waits(&inbox, told).await.map(Some)
    };
    tokio::select! {
        news = waits => news,
        _ = ended.recv() => Ok(None),
        () = orphaned() => Ok(None),
    }
}

/// Waits until the process that started this one is gone.
async fn orphaned() {
    let parent = parent_id();
    while parent_id() == parent {
        sleep(LOOK).await;
    }
}

/// Lets the agent go on with these news, in the way of its program.
fn let_go_on(
    program: HookProgram,
    news: &News,
    watch: &Watch,
    told: Lines<'_>,
    say: Lines<'_>,
) -> Ended {
    let text = said(news);
    match program {
        HookProgram::Claude => {
            told(&text);
            return Ended::AgentGoesOn;
        }
        HookProgram::Gemini => say(&json!({ "decision": "block", "reason": text }).to_string()),
        HookProgram::Opencode => {
            // The same for the same news, so that a repetition after a crash is no second turn.
            let mark = watch.waker.mark();
            let again = if mark.is_repeated { "again" } else { "" };
            let id = format!("{}{again}", mark.seq);
            say(&json!({ "id": id, "text": text }).to_string());
        }
    }
    Ended::Silent
}

/// The inbox in the result of a registration, as a program passes the result on: as JSON, or as a text for
/// models. Others' words are deeper in the JSON, and never begin a line of the text.
fn inbox_in(response: &Value) -> Option<String> {
    if let Some(parts) = response.as_array() {
        return parts.iter().find_map(|part| inbox_in(&part["text"]));
    }
    if let Some(text) = response.as_str() {
        return match serde_json::from_str::<Value>(text) {
            Ok(json) => inbox_of(&json),
            Err(_) => text.lines().find_map(|line| {
                let rest = line.strip_prefix("Your inbox is ")?;
                valid(rest.trim_end_matches('.'))
            }),
        };
    }
    let said = inbox_of(response).or_else(|| inbox_of(&response["structuredContent"]));
    let parts = ["content", "llmContent", "output", "text"];
    said.or_else(|| {
        let parts = parts.iter().filter_map(|part| response.get(part));
        parts.into_iter().find_map(inbox_in)
    })
}

fn inbox_of(json: &Value) -> Option<String> {
    valid(json.get("inbox_uri")?.as_str()?)
}

fn valid(uri: &str) -> Option<String> {
    let (reader, _) = ReaderId::from_inbox_uri(uri).ok()?;
    uri.starts_with(INBOX_URI).then(|| reader.inbox_uri())
}

#[cfg(test)]
mod tests {
    use super::*;

    const INBOX: &str = "chat://inbox/r_7jba83O6QjFTIPARVAHxFA";

    #[test]
    fn a_registration_names_its_inbox_in_the_result_of_each_program() {
        let result = json!({ "handle": "h_x", "inbox_uri": INBOX });
        let text = format!("You are Ann.\nYour inbox is {INBOX}.\nnext: check");
        let parts = json!([{ "type": "text", "text": text }]);
        for response in [
            json!(result.to_string()),
            json!([{ "type": "text", "text": result.to_string() }]),
            json!({ "content": parts, "structuredContent": result }),
            json!({ "content": parts }),
            json!({ "llmContent": text, "returnDisplay": "…" }),
            json!({ "llmContent": parts }),
            json!({ "output": text, "title": "", "metadata": {} }),
        ] {
            assert_eq!(inbox_in(&response).as_deref(), Some(INBOX), "{response}");
        }
    }

    #[test]
    fn words_of_others_name_no_inbox() {
        let said = json!({ "message": format!("Your inbox is {INBOX}."), "inbox_uri": INBOX });
        for response in [
            json!(null),
            json!(format!("[1] <x>Your inbox is {INBOX}.</x>")),
            json!(json!({ "messages": [said] }).to_string()),
            json!({ "structuredContent": { "events": [said], "inbox_uri": 7 } }),
            json!({ "inbox_uri": "chat://room/1" }),
            json!({ "content": [{ "type": "text" }, 7] }),
        ] {
            assert_eq!(inbox_in(&response), None, "{response}");
        }
    }
}

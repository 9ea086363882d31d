//! The hook of an agent's program, as the program runs it.

use std::fs::{self, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Pair, post};
use crate::process::{Started, binary, wait_until};

/// A session of a program in which Ann registered.
struct Session<'a> {
    pair: &'a Pair,
    program: &'static str,
    state: TempDir,
}

impl<'a> Session<'a> {
    /// A session that the hook does not know.
    fn unknown(pair: &'a Pair, program: &'static str) -> Self {
        let state = tempfile::tempdir().expect("a folder");
        Self {
            pair,
            program,
            state,
        }
    }

    fn registered(pair: &'a Pair, program: &'static str) -> Self {
        let session = Self::unknown(pair, program);
        let result = json!({ "inbox_uri": pair.inbox }).to_string();
        session.tool_was_called(&json!([{ "type": "text", "text": result }]), &json!({}));
        session
    }

    fn file(&self, ending: &str) -> PathBuf {
        let name = format!("{}-s-1{ending}", self.program);
        let folder = self.state.path().join("talking-stick/sessions");
        folder.join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = binary();
        let url = self.pair.server.url();
        command.args(["wake", "--hook", self.program, "--connect", &url]);
        command.args(words);
        command.env("XDG_STATE_HOME", self.state.path());
        command
    }

    /// Starts the hook for this event, with more about it.
    fn starts(&self, event: &str, more: &Value) -> Started {
        Self::starts_as(&mut self.command(&[]), event, more)
    }

    fn starts_as(command: &mut Command, event: &str, more: &Value) -> Started {
        let mut input = json!({ "hook_event_name": event, "session_id": "s-1", "cwd": "/" });
        for (name, value) in more.as_object().expect("members") {
            input[name] = value.clone();
        }
        command.stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut started = Started::start(command);
        let mut stdin = started.child_mut().stdin.take().expect("a pipe");
        write!(stdin, "{input}").expect("the hook reads");
        started
    }

    fn tool_was_called(&self, response: &Value, more: &Value) {
        let mut more = more.clone();
        more["tool_response"] = response.clone();
        let event = match self.program {
            "gemini" => "AfterTool",
            _ => "PostToolUse",
        };
        let told = said(self.starts(event, &more));
        assert_eq!(told, (Some(0), String::new(), String::new()));
    }

    fn turn_ends(&self) -> Started {
        let event = match self.program {
            "gemini" => "AfterAgent",
            _ => "Stop",
        };
        self.starts(event, &json!({}))
    }

    /// The hook of a turn's end that has begun to wait.
    fn waits(&self) -> Started {
        let hook = self.turn_ends();
        let id = hook.id().to_string();
        let lock = self.file(".lock");
        wait_until("it has the session", || {
            fs::read_to_string(&lock).is_ok_and(|user| user == id)
        });
        wait_until("it waits", || self.pair.server.figure("streams") > 0);
        hook
    }
}

/// The exit code of a hook that ends, its standard output and its standard error.
fn said(mut hook: Started) -> (Option<i32>, String, String) {
    let (mut out, mut told) = (String::new(), String::new());
    let child = hook.child_mut();
    let stdout = child.stdout.as_mut().expect("a pipe");
    stdout.read_to_string(&mut out).expect("text");
    let stderr = child.stderr.as_mut().expect("a pipe");
    stderr.read_to_string(&mut told).expect("text");
    (hook.exit_code(), out, told)
}

fn is_news(text: &str, count: u64) -> bool {
    let begins = format!("Talking Stick: {count} new (seq ");
    text.starts_with(&begins) && text.ends_with("). Call check.")
}

#[test]
fn a_hook_knows_its_inbox_from_the_registration_and_ends_by_news() {
    let pair = Pair::start();
    for program in ["claude", "gemini", "opencode"] {
        let session = Session::registered(&pair, program);
        let hook = session.waits();
        pair.ben_says("hello");
        let (code, out, told) = said(hook);
        match program {
            "claude" => {
                assert_eq!((code, &*out), (Some(2), ""), "{told}");
                assert!(is_news(told.trim_end(), 1), "{told}");
            }
            "gemini" => {
                assert_eq!((code, &*told), (Some(0), ""));
                let out: Value = serde_json::from_str(&out).expect("JSON");
                assert_eq!(out["decision"], "block");
                assert!(is_news(out["reason"].as_str().expect("text"), 1), "{out}");
            }
            _ => {
                assert_eq!((code, &*told), (Some(0), ""));
                let out: Value = serde_json::from_str(&out).expect("JSON");
                let text = out["text"].as_str().expect("text");
                assert!(is_news(text, 1), "{out}");
                let id = out["id"].as_str().expect("text");
                assert!(text.contains(&format!("(seq {id})")), "{out}");
            }
        }
        pair.ann_checks();
    }
}

#[test]
fn of_two_hooks_of_a_session_the_newer_waits_and_the_older_ends_silently() {
    let pair = Pair::start();
    let session = Session::registered(&pair, "claude");
    let older = session.waits();
    let newer = session.waits();
    assert_eq!(said(older), (Some(0), String::new(), String::new()));
    assert!(newer.is_running());
    pair.ben_says("hello");
    let (code, _, told) = said(newer);
    assert_eq!(code, Some(2));
    assert!(is_news(told.trim_end(), 1), "{told}");
}

#[test]
fn nothing_is_told_again_by_a_hook_after_a_kill() {
    let pair = Pair::start();
    let session = Session::registered(&pair, "claude");
    pair.ben_says("one");
    let (_, _, told) = said(session.turn_ends());
    assert!(is_news(told.trim_end(), 1), "{told}");
    // Ann's turn ended without a check. She was told of it.
    let killed = session.waits();
    killed.kill();
    let hook = session.waits();
    assert!(hook.is_running());
    pair.ben_says("two");
    let (code, _, told) = said(hook);
    assert_eq!(code, Some(2));
    assert!(is_news(told.trim_end(), 2), "{told}");
}

#[test]
fn a_hook_without_an_inbox_ends_at_once() {
    let pair = Pair::start();
    let session = Session::unknown(&pair, "claude");
    let nothing = (Some(0), String::new(), String::new());
    assert_eq!(said(session.turn_ends()), nothing);
    // What is no registration, or one of an agent within the session, names no inbox.
    session.tool_was_called(&json!("Done."), &json!({}));
    let result = json!({ "structuredContent": { "inbox_uri": pair.inbox } });
    session.tool_was_called(&result, &json!({ "agent_id": "a-1" }));
    assert_eq!(said(session.turn_ends()), nothing);
    assert!(!session.file("").exists());
    // A participant that is gone is forgotten.
    session.tool_was_called(&result, &json!({}));
    let hook = session.waits();
    post(&pair.server, &pair.ann, "/unregister", &json!({}));
    assert_eq!(said(hook), nothing);
    assert!(!session.file("").exists());
}

#[test]
fn a_hook_ends_with_its_program() {
    let pair = Pair::start();
    let session = Session::registered(&pair, "claude");
    let hook = session.command(&[]);
    // A shell that does not become the hook itself stands for the program.
    let mut program = Command::new("sh");
    program.args(["-c", "\"$0\" \"$@\"; true"]);
    program.arg(hook.get_program()).args(hook.get_args());
    program.env("XDG_STATE_HOME", session.state.path());
    let mut program = Session::starts_as(&mut program, "Stop", &json!({}));
    wait_until("it waits", || pair.server.figure("streams") > 0);
    program.kill();
    let mut told = String::new();
    let child = program.child_mut();
    let stderr = child.stderr.as_mut().expect("a pipe");
    // The hook has the other end.
    stderr.read_to_string(&mut told).expect("text");
    assert_eq!(told, "");
}

#[test]
fn a_hook_of_an_agent_that_left_waits_only_in_another_room() {
    let pair = Pair::start();
    let session = Session::registered(&pair, "claude");
    let leaves = || {
        let tool = json!({ "tool_name": "mcp__talking-stick__leave_chat" });
        session.tool_was_called(&json!("Done."), &tool);
    };
    leaves();
    let still_there = session.waits();
    assert!(still_there.is_running());
    post(&pair.server, &pair.ann, "/tools/leave_chat", &json!({}));
    leaves();
    let nothing = (Some(0), String::new(), String::new());
    assert_eq!(said(still_there), nothing);
    assert_eq!(said(session.turn_ends()), nothing);
}

/// An exit code of 2 would let the agent go on, again and again.
#[test]
fn a_hook_that_cannot_work_never_lets_the_agent_go_on() {
    let pair = Pair::start();
    let session = Session::registered(&pair, "claude");
    let fails = |hook: Started, wanted: &str| {
        let (code, _, told) = said(hook);
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains(wanted), "{told}");
    };
    let starts = |words: &[&str]| {
        let mut command = session.command(words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Started::start(&mut command)
    };
    fails(starts(&["--no-such-flag"]), "--no-such-flag");
    fails(starts(&["--connect", "localhost"]), "--connect");
    fails(starts(&[]), "JSON on standard input");
    let elsewhere = json!({ "session_id": "../s-1" });
    fails(session.starts("Stop", &elsewhere), "letters, digits");
    let note = session.file("");
    fs::set_permissions(&note, Permissions::from_mode(0o666)).expect("it is the user's");
    fails(session.turn_ends(), "another user can write it");
}

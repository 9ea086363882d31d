//! Breaks by the oldest clients: no handle, one line per answer, several calls at once.

use std::time::{Duration, Instant};

use chat_core::BreakKind;
use regex::Regex;
use serde_json::{Value, json};

use crate::process::Server;
use crate::stdio::client::Client;

/// The parts of an answer that a client reads by the published patterns.
#[derive(Debug, PartialEq, Eq)]
struct Read {
    summary: Option<String>,
    stress: u32,
    boss: u32,
}

fn read(text: &str) -> Read {
    let find = |pattern: &str| {
        let pattern = Regex::new(pattern).expect("a pattern");
        Some(pattern.captures(text)?[1].to_owned())
    };
    let figure = |pattern| find(pattern).expect(text).parse().expect(text);
    Read {
        summary: find(r"Break Summary:\s*(.+?)(?:\n|$)"),
        stress: figure(r"Stress Level:\s*(\d{1,3})"),
        boss: figure(r"Boss Alert Level:\s*([0-5])"),
    }
}

/// Calls a tool; returns the text of its answer and its structured content.
fn take(client: &mut Client, tool: &str, arguments: &Value) -> (String, Value) {
    let params = json!({ "name": tool, "arguments": arguments });
    let answer = client.ask("tools/call", &params);
    content(&answer)
}

/// How alert the boss is, by the answer of this tool.
fn boss(client: &mut Client, tool: &str) -> u32 {
    read(&take(client, tool, &json!({})).0).boss
}

fn content(answer: &Value) -> (String, Value) {
    let result = &answer["result"];
    assert_eq!(result["isError"], false, "{answer}");
    let content = result["content"].as_array().expect("content");
    assert_eq!(content.len(), 1);
    let text = content[0]["text"].as_str().expect("a text").to_owned();
    (text, result["structuredContent"].clone())
}

/// For every kind of break: the exact text, and the patterns that read it.
fn every_break_is_read(client: &mut Client) {
    for kind in BreakKind::ALL {
        let (text, said) = take(client, kind.name(), &json!({}));
        let (summary, stress, boss) = (
            said["break_summary"].as_str().expect("a summary"),
            said["stress_level"].as_u64().expect("a figure"),
            said["boss_alert_level"].as_u64().expect("a figure"),
        );
        let message = said["message"].as_str().expect("a message");
        assert_eq!(
            text,
            format!(
                "{message}\n\nBreak Summary: {summary}\nStress Level: {stress}\n\
                 Boss Alert Level: {boss}\n\nYou are user_1."
            )
        );
        let (emoji, words) = message.split_once(' ').expect("an emoji and a message");
        assert!(!emoji.is_ascii() && !words.is_empty() && !text.contains("next:"));
        let read = read(&text);
        assert_eq!(read.summary.as_deref(), Some(summary));
        assert_eq!(
            (u64::from(read.stress), u64::from(read.boss)),
            (stress, boss)
        );
        assert!(said["unread"].is_u64());
    }
}

#[test]
fn every_break_and_the_status_are_read_by_pattern() {
    let words = ["--connect", "never", "--boss_alertness", "0"];
    let mut client = Client::introduced(&words);
    every_break_is_read(&mut client);
    let (text, said) = take(&mut client, "check_stress_status", &json!({}));
    let expected = Read {
        summary: None,
        stress: 0,
        boss: 0,
    };
    assert_eq!(read(&text), expected);
    assert_eq!(
        (&said["stress_level"], &said["boss_alert_level"]),
        (&json!(0), &json!(0))
    );
    let lines: Vec<_> = text.lines().rev().take(2).collect();
    assert!(lines[1].ends_with(" Stress Level: 0/100"), "{text}");
    assert!(lines[0].ends_with(" Boss Alert Level: 0/5"), "{text}");
    client.close();
}

#[test]
fn joined_to_a_server_it_is_the_same() {
    let server = Server::start(&[]);
    let mut client = Client::introduced(&["--connect", &server.url()]);
    for kind in &BreakKind::ALL[..3] {
        let (text, _) = take(&mut client, kind.name(), &json!({}));
        assert!(read(&text).summary.is_some());
    }
    client.close();
}

/// The restarted server does not know the participant: the client registers again, and its call
/// counts as one break.
#[test]
fn a_break_after_a_restart_is_one_break() {
    let alert = ["--boss_alertness", "100"];
    let server = Server::start(&alert);
    let mut client = Client::introduced(&["--connect", &server.url()]);
    assert_eq!(boss(&mut client, "take_a_break"), 1);
    let _again = server.again(&alert);
    assert_eq!(boss(&mut client, "take_a_break"), 1);
    assert_eq!(boss(&mut client, "take_a_break"), 2);
    client.close();
}

/// The restarted server knows nobody of the client, and a status registers nobody.
#[test]
fn a_status_after_a_restart_is_refused_until_a_break_registers_again() {
    let alert = ["--boss_alertness", "100"];
    let server = Server::start(&alert);
    let mut client = Client::introduced(&["--connect", &server.url()]);
    let refused = client.call("check_stress_status", &json!({}));
    assert_eq!(refused["error"]["code"], "handle_required", "{refused}");
    take(&mut client, "take_a_break", &json!({}));
    assert_eq!(boss(&mut client, "check_stress_status"), 1);
    let _again = server.again(&alert);
    let refused = client.call("check_stress_status", &json!({}));
    assert_eq!(refused["error"]["code"], "unknown_handle", "{refused}");
    let refused = client.call("check_stress_status", &json!({}));
    assert_eq!(refused["error"]["code"], "handle_required", "{refused}");
    all_at_once(client);
}

/// Each call of a burst finds that the restarted server does not know it.
#[test]
fn breaks_that_come_together_after_a_restart_are_of_one_agent() {
    let alert = ["--boss_alertness", "100"];
    let server = Server::start(&alert);
    let mut client = Client::introduced(&["--connect", &server.url()]);
    take(&mut client, "take_a_break", &json!({}));
    let _again = server.again(&alert);
    all_at_once(client);
}

/// All breaks are counted for one agent, however many calls arrive before the first answer.
fn all_at_once(mut client: Client) {
    let calls: Vec<_> = BreakKind::ALL[..4]
        .iter()
        .map(|kind| {
            let params = json!({ "name": kind.name(), "arguments": {} });
            client.send_request("tools/call", &params)
        })
        .collect();
    let mut bosses = Vec::new();
    for _ in &calls {
        let answer = client.receive();
        assert!(calls.iter().any(|id| answer["id"] == *id), "{answer}");
        bosses.push(read(&content(&answer).0).boss);
    }
    bosses.sort_unstable();
    assert_eq!(bosses, [1, 2, 3, 4]);
    assert_eq!(boss(&mut client, "check_stress_status"), 4);
    client.close();
}

#[test]
fn first_calls_that_come_together_are_of_one_agent() {
    all_at_once(Client::introduced(&[
        "--connect",
        "never",
        "--boss-alertness",
        "100",
    ]));
}

#[test]
fn first_calls_that_come_together_are_of_one_agent_at_a_server_too() {
    let server = Server::start(&["--boss_alertness", "100"]);
    all_at_once(Client::introduced(&["--connect", &server.url()]));
}

#[test]
fn an_excuse_is_said_and_cannot_pass_for_figures() {
    let words = ["--connect", "never", "--toolsets", "breaks"];
    let mut client = Client::introduced(&words);
    let (text, _) = take(
        &mut client,
        "urgent_call",
        &json!({ "excuse": "the cat rang" }),
    );
    assert!(
        text.starts_with("📞 the cat rang\n\nBreak Summary: "),
        "{text}"
    );
    let (text, _) = take(&mut client, "urgent_call", &json!({ "excuse": "" }));
    assert!(!text.starts_with("📞 \n"), "an empty one is none: {text}");
    for wrong in ["two\nlines", "Stress Level: 7"] {
        let refused = client.call("urgent_call", &json!({ "excuse": wrong }));
        assert_eq!(refused["error"]["code"], "invalid_arguments", "{refused}");
    }
    let long = "x".repeat(201);
    let refused = client.call("urgent_call", &json!({ "excuse": long }));
    assert_eq!(refused["error"]["code"], "invalid_arguments", "{refused}");
    let listed = client.ask("tools/list", &json!({}));
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(12));
    client.close();
}

/// Under a fully alert boss, with one delayed call and one call that waits for events.
fn left_waiting(words: &[&str]) -> Client {
    let mut client = Client::introduced(words);
    for _ in 0..4 {
        take(&mut client, "show_meme", &json!({}));
    }
    for (name, arguments) in [
        ("show_meme", json!({})),
        ("check", json!({ "wait_seconds": 50 })),
    ] {
        let params = json!({ "name": name, "arguments": arguments });
        client.send_request("tools/call", &params);
    }
    // Calls after these two are answered, and these two are not.
    while boss(&mut client, "check_stress_status") < 5 {}
    client
}

#[test]
fn what_waits_when_stdin_closes_is_answered_as_it_is() {
    let client = left_waiting(&["--connect", "never", "--boss_alertness", "100"]);
    let answers = client.close_and_read();
    assert_eq!(answers.len(), 2, "{answers:?}");
    for answer in answers {
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
}

#[test]
fn a_client_that_joined_a_server_leaves_with_calls_that_wait() {
    let server = Server::start(&["--boss_alertness", "100"]);
    left_waiting(&["--connect", &server.url()]).close();
}

/// An answer is really delayed, and those to later calls overtake it.
#[test]
fn under_the_eyes_of_the_boss_an_answer_takes_twenty_seconds() {
    let words = ["--connect", "never", "--boss_alertness", "100"];
    let mut client = Client::introduced(&words);
    for level in 1..5 {
        assert_eq!(boss(&mut client, "take_a_break"), level);
    }
    let params = json!({ "name": "chimaek", "arguments": {} });
    let began = Instant::now();
    let held = client.send_request("tools/call", &params);
    // Meanwhile every other call is answered.
    while boss(&mut client, "check_stress_status") < 5 {}
    for _ in 0..5 {
        assert_eq!(boss(&mut client, "check_stress_status"), 5);
    }
    // Waiting for the others has passed over an answer that came before them, which is missing here.
    let answer = client.answer(held);
    assert!(began.elapsed() >= Duration::from_secs(19));
    assert_eq!(read(&content(&answer).0).boss, 5);
    client.close();
}

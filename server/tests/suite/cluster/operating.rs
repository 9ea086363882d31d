//! What operators see of members, and ask of them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::json;

use crate::cluster::done;
use crate::cluster::members::Members;
use crate::cluster::talkers::texts;
use crate::process::PATIENCE;
use crate::stage::{file_with, token_line};

/// The metrics of a member.
pub(crate) struct Scrape(String);

impl Scrape {
    fn of(members: &Members, number: usize) -> Self {
        let answer = members.connect(number).exchange("GET /metrics", &[], "");
        let answer = answer.expect("an answer");
        assert_eq!(answer.status, 200);
        Self(answer.body)
    }

    /// The value of the metric with this label.
    pub(crate) fn value(&self, name: &str, label: &str) -> u64 {
        let name = format!("talking_stick_cluster_{name}{{");
        let mut lines = self.0.lines();
        let line = lines.find(|line| line.starts_with(&name) && line.contains(label));
        let line = line.unwrap_or_else(|| panic!("no {name}{label} in {}", self.0));
        let (_, value) = line.rsplit_once(' ').expect("a sample has a value");
        value.parse().expect("a whole number")
    }
}

/// Scrapes a member until this holds.
pub(crate) fn scraped(members: &Members, number: usize, holds: impl Fn(&Scrape) -> bool) -> Scrape {
    let until = Instant::now() + PATIENCE;
    loop {
        let scrape = Scrape::of(members, number);
        if holds(&scrape) {
            return scrape;
        }
        assert!(Instant::now() < until, "it never holds: {}", scrape.0);
    }
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn the_metrics_of_members_say_who_is_the_owner_and_how_the_log_is() {
    let mut members = Members::start_on(1, 2);
    let owner = members.owner();
    let other = 1 - owner;
    let mut door = members.connect(other);
    let ada = door.register("Ada", "lobby");
    done(&mut door, "/send", &ada, &json!({ "message": "hello" }));

    let at_owner = scraped(&members, owner, |scrape| scrape.value("lease", "") == 1);
    for (name, label, wanted) in [
        ("role", "role=\"owner\"", 1),
        ("role", "role=\"follower\"", 0),
        ("epoch", "", 1),
        ("ownership_gained_total", "", 1),
        ("ownership_lost_total", "", 0),
        ("alarms_total", "kind=\"diverged\"", 0),
        ("forwarded_total", "outcome=\"answered\"", 0),
        ("reconnects_total", "realm=\"main\"", 0),
        ("snapshot_time_seconds", "", 0),
    ] {
        assert_eq!(at_owner.value(name, label), wanted, "{name} {label}");
    }
    let appended = at_owner.value("appends_total", "outcome=\"acknowledged\"");
    assert!(appended >= 3, "a claim and two calls at least: {appended}");
    assert!(at_owner.value("append_seconds_count", "") >= appended);

    let at_other = scraped(&members, other, |scrape| {
        let follows = scrape.value("sequence", "") >= at_owner.value("sequence", "");
        follows && scrape.value("log_records", "") > 0
    });
    for (name, label, wanted) in [
        ("role", "role=\"follower\"", 1),
        ("lease", "", 0),
        ("connected", "", 1),
        ("forwarded_total", "outcome=\"answered\"", 2),
        ("forwarded_total", "outcome=\"unavailable\"", 0),
    ] {
        assert_eq!(at_other.value(name, label), wanted, "{name} {label}");
    }
    assert!(at_other.value("log_bytes", "") > 0);

    members.servers.kill(0);
    for number in [owner, other] {
        scraped(&members, number, |scrape| {
            scrape.value("connected", "") == 0
        });
    }
    scraped(&members, owner, |scrape| {
        let unknown = scrape.value("appends_total", "outcome=\"unknown\"");
        scrape.value("lease", "") == 0 && unknown + scrape.value("appends_total", "\"busy\"") > 0
    });
    members.servers.start_again(0);
    for number in [owner, other] {
        scraped(&members, number, |scrape| {
            scrape.value("connected", "") == 1 && scrape.value("reconnects_total", "") > 0
        });
    }
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn an_owner_that_is_asked_to_resign_follows_another_one_and_refuses_no_call() {
    let members = Members::start_on(1, 2);
    let before = members.owner();
    let other = 1 - before;
    let mut doors: Vec<_> = (0..2).map(|number| members.connect(number)).collect();
    let ada = doors[before].register("Ada", "lobby");
    let is_over = AtomicBool::new(false);
    let said = std::thread::scope(|scope| {
        let talkers: Vec<_> = doors
            .iter_mut()
            .map(|door| {
                let (ada, is_over) = (&ada, &is_over);
                scope.spawn(move || {
                    let mut said = 0;
                    while !is_over.load(Ordering::Relaxed) {
                        done(door, "/send", ada, &json!({ "message": "hello" }));
                        said += 1;
                    }
                    said
                })
            })
            .collect();
        let output = members.command("resign");
        is_over.store(true, Ordering::Relaxed);
        let text = String::from_utf8_lossy(&output.stdout);
        let wanted = format!("m{before} resigned in epoch 1\nm{other} is the owner in epoch 2\n");
        assert_eq!((&*text, output.status.code()), (&*wanted, Some(0)));
        let said = talkers
            .into_iter()
            .map(|talker| talker.join().expect("served"));
        said.sum::<usize>()
    });
    assert_eq!(members.owner(), other);
    let at_before = scraped(&members, before, |scrape| {
        scrape.value("role", "role=\"follower\"") == 1
    });
    assert_eq!(at_before.value("ownership_lost_total", ""), 1);
    // A resigning owner stores a snapshot.
    scraped(&members, before, |scrape| {
        scrape.value("snapshot_time_seconds", "") > 0
    });
    members.agreed();
    assert_eq!(texts(&mut members.connect(before), &ada).len(), said);
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn a_member_that_is_alone_owns_the_log_again_after_its_resignation() {
    let mut members = Members::start_on(1, 1);
    members.owner();
    let output = members.command("resign");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text, "m0 resigned in epoch 1\nm0 is the owner in epoch 2\n");
    members.kill(0);
    let output = members.command("resign");
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(
        why.contains("no member of the realm is the owner now"),
        "{why}"
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn a_strict_read_appends_first_at_the_owner_s_door_and_at_another_one() {
    let members = Members::start_with(1, 2, &["--reads", "strict"]);
    let owner = members.owner();
    let mut doors = [owner, 1 - owner].map(|number| members.connect(number));
    let ada = doors[0].register("Ada", "lobby");
    done(&mut doors[0], "/send", &ada, &json!({ "message": "hello" }));
    for door in &mut doors {
        let appended = || {
            let scrape = Scrape::of(&members, owner);
            scrape.value("appends_total", "outcome=\"acknowledged\"")
        };
        let before = appended();
        for _ in 0..20 {
            assert_eq!(texts(door, &ada), ["hello"]);
        }
        let after = appended();
        assert!(after >= before + 20, "{before} to {after}");
    }
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn a_ban_of_an_address_ends_its_streams_at_every_member() {
    let (_tokens, path) = file_with(&token_line("boss", "a secret"));
    let members = Members::start_with(1, 3, &["--operator-tokens", &path]);
    let ada = members.connect(0).register("Ada", "lobby");
    let streams: Vec<_> = (0..3).map(|number| members.stream(number, &ada)).collect();
    let body = json!({ "address": "127.0.0.1", "reason": "flood" });
    let operator = [("Authorization", "Bearer a secret")];
    let mut door = members.connect(1);
    let banned = door.exchange("POST /admin/ban", &operator, &body.to_string());
    assert_eq!(banned.map(|answer| answer.status), Some(200));
    for stream in streams {
        stream.read_to_end();
    }
}

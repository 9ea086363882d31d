//! One NATS server of three is away: it is down, or cut off from the two others.

use std::time::Instant;

use serde_json::json;

use crate::cluster::members::Members;
use crate::cluster::monitoring;
use crate::cluster::operating::{Scrape, scraped};
use crate::cluster::proxy::{Flow, Way};
use crate::process::PATIENCE;

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn a_member_starts_while_one_nats_server_is_down_and_checks_it_later() {
    let mut members = Members::start_on(3, 2);
    members.servers.kill(0);
    members.kill(1);
    members.start_again(1);
    members.agreed();
    let alarms = |scrape: &Scrape| scrape.value("alarms_total", "kind=\"unsafe\"");
    scraped(&members, 1, |scrape| alarms(scrape) == 0);
    members.servers.configure(0, "sync_interval: always", "");
    members.servers.start_again(0);
    scraped(&members, 1, |scrape| alarms(scrape) > 0);
}

/// Members have the same addresses of NATS servers, and a connection to one of them. That one still
/// takes their connections, and reaches no record.
#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn members_leave_a_nats_server_that_is_cut_off_from_the_others() {
    let members = Members::start();
    let ada = members.connect(0).register("Ada", "lobby");
    let connections = |number: &usize| monitoring::connections(&members.servers, *number);
    let most = (0..members.servers.count()).max_by_key(connections);
    let cut = most.expect("there are servers");
    assert!(connections(&cut) > 0, "three members are connected");
    members.network.set_routes(cut, Way::Both, Flow::Cut);
    for number in 0..members.count() {
        let body = json!({ "message": "hello", "request_key": format!("key {number}") });
        let until = Instant::now() + PATIENCE;
        let mut door = members.connect(number);
        while !matches!(door.post("/send", &ada, &body), Some((200, _))) {
            assert!(Instant::now() < until, "door {number} serves nobody");
            door = members.connect(number);
        }
    }
    members.agreed();
}

//! The NATS server that leads the log is killed: calls wait until the others have elected a leader.

use std::time::{Duration, Instant};

use crate::cluster::members::Members;
use crate::cluster::monitoring::{leader, whole};
use crate::cluster::nemesis::{HEALED, setting};
use crate::cluster::talkers::{Habit, THINKING, Talkers};

/// Those that say each message once see what a call meets. Some begin theirs while nothing is in
/// flight.
const TALKERS: [(Habit, Duration); 9] = [
    (Habit::Insists, Duration::ZERO),
    (Habit::Insists, Duration::ZERO),
    (Habit::Insists, Duration::ZERO),
    (Habit::SaysOnce, Duration::ZERO),
    (Habit::SaysOnce, Duration::ZERO),
    (Habit::SaysOnce, Duration::ZERO),
    (Habit::SaysOnce, THINKING),
    (Habit::SaysOnce, THINKING),
    (Habit::SaysOnce, THINKING),
];

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn no_call_is_refused_while_the_log_elects_a_leader() {
    let mut members = Members::start_for_talkers();
    let doors = (0..members.count()).map(|number| members.address(number));
    let talkers = Talkers::register(&TALKERS, doors.collect());
    talkers.talk_while(|| {
        for _ in 0..setting("CLUSTER_KILLS", 2) {
            whole(&members.servers);
            let leads = leader(&members.servers, None);
            let before = talkers.not_done().len();
            members.servers.kill(leads);
            let healed = talkers.heal(Instant::now(), HEALED).expect("served again");
            let refused = talkers.not_done().len() - before;
            println!("served again after {healed:.2?}, {refused} refused");
            members.servers.start_again(leads);
        }
    });
    assert_eq!(talkers.not_done(), [0; 0], "refused as not done");
    talkers.check(&talkers.history(0));
}

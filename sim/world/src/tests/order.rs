//! Tests that a stream is one connection: events that arrive while its client is suspended are read
//! in the order of sending.

use super::*;

/// The inbox places of the first events of Bob's streams, in the order of reading.
fn read_by_bob(plan: &Plan, seed: u64) -> Vec<u64> {
    let mut places = Vec::new();
    let outcome = watched(plan, seed, |event| {
        if let RunEvent::Client(record) = event
            && record.agent == Agent(1)
        {
            places.extend(first_by_stream(record));
        }
    });
    assert_eq!(outcome.violations, []);
    places
}

const TALK: &str = "
name: talk
duration: 10s
users: [ann, bob]
steps:
  - { at: 0s, user: ann, do: enter_queue }
  - { at: 20ms, user: bob, do: enter_queue }
  - { at: 1100ms, user: ann, do: { send: { text: one } } }
  - { at: 1300ms, user: ann, do: { send: { text: two } } }
  - { at: 1850ms, user: ann, do: { send: { text: three } } }
faults:
  - { at: 1s, suspend: { users: [bob], for: 1s } }
  - { at: 1800ms, suspend: { users: [bob], for: 1s } }
";

#[test]
fn a_client_suspended_again_first_reads_earlier_deliveries() {
    let plan = parse("talk.yaml", TALK).unwrap();
    for seed in 0..4 {
        let places = read_by_bob(&plan, seed);
        assert!(places.is_sorted(), "seed {seed}: {places:?}");
        assert!(places.len() >= 4, "seed {seed}: {places:?}");
    }
}

/// The first message arrives at 1,950 ms. The second one leaves at 1,750 ms, and arrives at the
/// instant at which Bob continues.
const AWAKE: &str = "
name: awake
duration: 10s
capacity: { service: 30ms, commit: 100ms }
users: [ann, bob]
steps:
  - { at: 0s, user: ann, do: enter_queue }
  - { at: 300ms, user: bob, do: enter_queue }
  - { at: 1100ms, user: ann, do: { send: { text: one } }, net: { request: 20ms, push: { bob: 700ms } } }
  - { at: 1600ms, user: ann, do: { send: { text: two } }, net: { request: 20ms, push: { bob: 250ms } } }
faults: [{ at: 1s, suspend: { users: [bob], for: 1s } }]
";

#[test]
fn a_delivery_at_the_instant_of_resuming_is_read_last() {
    let plan = parse("awake.yaml", AWAKE).unwrap();
    assert_eq!(read_by_bob(&plan, 1), [1, 2, 3]);
}

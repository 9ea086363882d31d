//! The sample scenario.

use std::sync::Arc;

use chat_types::{Config, Span};
use sim_model::draw::{Quantiles, Ratio, Shape};
use sim_model::names::properties_of;
use sim_model::outcome::DisconnectedHolder;
use sim_model::plan::{
    Capacity, Client, Compare, Figure, Frequency, Habits, Network, OwnerReads, Persona, Plan,
    Schedule, Threshold, Workload,
};
use sim_model::protocol::User;
use sim_model::recipe::Recipe;
use sim_model::user_name::UserName;

pub(super) fn persona(name: &str, weight: u32) -> Arc<Persona> {
    Arc::new(Persona {
        profile: sim_model::plan::ClientProfile::default(),
        name: name.to_owned(),
        frequency: Frequency::Weight(weight),
        habits: Habits::default(),
        stream: true,
        flow: Arc::from([]),
    })
}

/// A holder of a stick who is gone.
pub(super) fn vanisher() -> DisconnectedHolder {
    DisconnectedHolder {
        who: UserName::new(Some(User(9)), "vanisher#4"),
        since_ms: 9_500,
    }
}

fn asked() -> Vec<Threshold> {
    let threshold = |metric, expression: &str, figure, compare, bound| Threshold {
        metric,
        persona: None,
        expression: expression.to_owned(),
        figure,
        compare,
        bound,
    };
    let (p90, p95) = (Figure::Percentile(90.0), Figure::Percentile(95.0));
    vec![
        threshold("message_latency", "p(90)<1s", p90, Compare::Below, 1_000.0),
        threshold("queue_wait", "p(95)<2s", p95, Compare::Below, 2_000.0),
        threshold(
            "queue_wait",
            "overtaken==0",
            Figure::Overtaken,
            Compare::Equal,
            0.0,
        ),
        threshold("stick_turns", "jain>0.8", Figure::Jain, Compare::Above, 0.8),
    ]
}

/// The scenario of the design, without its flows.
pub(crate) fn plan(name: &str) -> Plan {
    let fixed = || Arc::new(Quantiles::new(Shape::Fixed(1_000)));
    let ratio = |under| Ratio::new(1, under).unwrap();
    Plan {
        name: name.to_owned(),
        about: "Two hundred agents arrive within a second, pair up, talk and leave.".to_owned(),
        seed: 42,
        duration: Span::secs(30),
        liveness: Span::secs(60),
        servers: 1,
        reads: OwnerReads::Lease,
        server: Config {
            reconnect_grace: Span::secs(5),
            stick_lease: Span::secs(4),
            ..Config::default()
        },
        capacity: Capacity {
            service: fixed(),
            commit: fixed(),
            queue: 4_096,
            snapshot_every: 20_000,
        },
        client: Client {
            timeout: Span::millis(500),
            backoff: 2,
            max: Span::secs(8),
            attempts: 8,
        },
        workload: Workload::Phases {
            phases: Vec::new(),
            personas: vec![
                persona("penpal", 8),
                persona("vanisher", 1),
                persona("speaker", 1),
            ],
        },
        network: Network {
            latency: fixed(),
            loss: ratio(100),
            duplicate: ratio(200),
            stream_break: ratio(500),
            addresses: None,
        },
        schedule: Schedule::Plain,
        recipe: Recipe::default(),
        faults: Vec::new(),
        properties: properties_of(1),
        expect_sometimes: vec![
            "match",
            "reconnect_in_grace",
            "stick_expired",
            "retry_deduplicated",
        ],
        thresholds: asked(),
        allow_stuck: Ratio::NEVER,
    }
}

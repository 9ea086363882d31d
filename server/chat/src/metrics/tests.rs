use std::collections::BTreeSet;

use chat_core::{Counters, Counts, Load, Span, Time};

use super::*;
use crate::capacity::{Capacity, Share, Source};
use crate::refused_requests::Kind;

/// The readings of a node.
fn seen() -> Seen {
    let counts = Counts {
        participants: 3,
        of_one_address: 2,
        rooms: 2,
        waiting: 1,
        first_waits_since: Some(Time(0)),
        recent_wait: Some(Span::millis(1_500)),
    };
    let load = Load {
        pending: 4,
        parked: 5,
        streams: 6,
        held: 8,
        addresses: 11,
    };
    Seen {
        counts,
        load,
        participants: Share { all: 30, each: 5 },
        counters: Counters {
            alerts: 9,
            held: 10,
            messages: 12,
            matches: 13,
            moves: [14; 15],
            claimants: 15,
            ..Counters::default()
        },
        waited: Span::millis(16_500),
    }
}

#[test]
fn what_happened_can_be_read() {
    let metrics = Metrics::default();
    metrics.called(Tool::SendMessage, Duration::from_millis(1));
    metrics.called(Tool::Check, Duration::from_secs(20));
    metrics.count(Row::Refusals, "stick_required");
    metrics.count(Row::TurnedAway, Kind::WrongToken.name());
    metrics.sent_to_model(120);
    metrics.took(Row::CommitSeconds, "", Duration::from_millis(2));
    metrics.set(Row::HistoryLag, "", 5);
    metrics.raise(Row::HistoryDamaged, "", 1);
    metrics.raise(Row::HistoryLost, "", 2);
    metrics.took(Row::InboxLagSeconds, "", Duration::from_millis(1));
    let capacity = Capacity::default();
    let _session = capacity.sessions.take(Source(1), 1);
    capacity.memory.measured(12_000);
    metrics.count(Row::Connections, "");
    metrics.count(Row::ConnectionsRefused, "full");
    metrics.count(Row::HttpResponses, "/send 200");
    metrics.took(Row::HttpRequestSeconds, "/send", Duration::from_millis(1));
    metrics.see(Time(1), Some(seen()), 6);
    metrics.see(Time(2_000_000), Some(seen()), 7);
    let process = [metrics.of_process(&capacity)].into_iter();
    let text = Exposition::OpenMetrics.of(process.chain(metrics.of_realm()));
    for line in [
        "talking_stick_calls_total{tool=\"send_message\"} 1",
        "talking_stick_call_seconds_count 1",
        "talking_stick_refusals_total{code=\"stick_required\"} 1",
        "talking_stick_turned_away_total{why=\"wrong_token\"} 1",
        "talking_stick_model_bytes_total 120",
        "talking_stick_history_lag 5",
        "talking_stick_history_damaged_total 1",
        "talking_stick_history_lost_total 2",
        "talking_stick_refusals_total{code=\"name_taken\"} 0",
        "talking_stick_turned_away_total{why=\"host\"} 0",
        "talking_stick_calls_total{tool=\"push\"} 0",
        "talking_stick_commit_seconds_count 1",
        "talking_stick_messages_total 12",
        "talking_stick_matches_total 13",
        "talking_stick_stick_moves_total{how=\"expired\"} 14",
        "talking_stick_stick_claimants 15",
        "talking_stick_stick_wait_seconds_total 16.5",
        "talking_stick_inbox_lag_seconds_count 1",
        "talking_stick_participants 3",
        "talking_stick_queue_first_wait_seconds 2.0",
        "talking_stick_queue_recent_wait_seconds 1.5",
        "talking_stick_streams 6",
        "talking_stick_driver_queued 7",
        "talking_stick_held_answers 8",
        "talking_stick_boss_alerts_total 9",
        "talking_stick_breaks_held_total 10",
        "talking_stick_held{resource=\"sessions\"} 1",
        "talking_stick_held_by_one_limit{resource=\"sessions\"} 625",
        "talking_stick_held{resource=\"participants\"} 3",
        "talking_stick_held_by_one{resource=\"participants\"} 2",
        "talking_stick_held_by_one_limit{resource=\"participants\"} 5",
        "talking_stick_held_limit{resource=\"participants\"} 30",
        "talking_stick_rated_addresses 11",
        "talking_stick_held_refused_total{resource=\"sessions\"} 0",
        "talking_stick_memory_limit_bytes 0",
        "talking_stick_connections_total 1",
        "talking_stick_connections_refused_total{why=\"full\"} 1",
        "talking_stick_connections_refused_total{why=\"too_fast\"} 0",
        "talking_stick_http_responses_total{route=\"/send\",status=\"200\"} 1",
        "talking_stick_http_request_seconds_count{route=\"/send\"} 1",
        "talking_stick_build_info{version=\"",
        "\nprocess_start_time_seconds 1",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn series_of_several_realms_have_their_names_and_those_of_the_process_are_there_once() {
    let realms = ["main", "arena"].map(|realm| Metrics::new(Some(realm)));
    realms[1].count(Row::Refusals, "stick_required");
    for metrics in &realms {
        metrics.see(Time(1), Some(seen()), 0);
    }
    let process = [realms[0].of_process(&Capacity::default())].into_iter();
    let scopes = process.chain(realms.iter().flat_map(Metrics::of_realm));
    let text = Exposition::OpenMetrics.of(scopes);
    // Labels have no order.
    for (name, labels, value) in [
        (
            "refusals_total",
            "code=\"stick_required\" realm=\"arena\"",
            "1",
        ),
        ("participants", "realm=\"main\"", "3"),
        ("participants", "realm=\"arena\"", "3"),
        ("held", "resource=\"participants\" realm=\"arena\"", "3"),
        ("held", "resource=\"sessions\"", "0"),
    ] {
        let (start, end) = (format!("talking_stick_{name}{{"), format!("}} {value}"));
        let is_it = |line: &str| {
            let rest = line.strip_prefix(&start);
            let found = rest.and_then(|rest| rest.strip_suffix(&end));
            found.is_some_and(|found| {
                let labels: BTreeSet<_> = labels.split(' ').collect();
                found.split(',').collect::<BTreeSet<_>>() == labels
            })
        };
        assert!(text.lines().any(is_it), "{name} {labels}\n{text}");
    }
    for once in [
        "# TYPE talking_stick_held gauge",
        "# TYPE talking_stick_participants gauge",
        "talking_stick_connections_total 0",
        "# EOF",
    ] {
        assert_eq!(text.matches(once).count(), 1, "{once}\n{text}");
    }
}

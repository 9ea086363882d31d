//! Tests the page of a scenario in both worlds, with fabricated figures.

use std::collections::BTreeMap;
use std::fs;

use chat_types::Span;
use sim_model::outcome::{
    Calibration, CalibrationBlock, CapacityTimes, MetricResult, NetworkTimes, RoundTrips, Spread,
    Stage, Verdict,
};
use sim_report::server_comparison::{LoadStage, ServerComparison, ServerRun};
use sim_report::{CalibrationReport, calibrated_html};

use super::{TestFolder, data};
use crate::list;

fn metric(p50: f64, tail: f64) -> MetricResult {
    MetricResult {
        count: 1_000,
        p50,
        p90: p50 * tail * 0.6,
        p95: p50 * tail * 0.8,
        p99: p50 * tail,
        p999: p50 * tail * 2.0,
        max: p50 * tail * 3.0,
        mean: p50 * 1.2,
        ..MetricResult::default()
    }
}

/// A side on which everything takes `slower` times as long as at the lowest load.
fn side(load: u32, slower: f64) -> ServerRun {
    let load = f64::from(load);
    ServerRun {
        users: 60,
        offered_per_second: 71.5 * load,
        achieved_per_second: 71.5 * load / slower.sqrt(),
        verdict: Verdict::Pass,
        violation: None,
        metrics: BTreeMap::from([
            ("request_latency", metric(0.3 * slower, 2.0 + load)),
            ("message_latency", metric(0.5 * slower, 2.0 + load)),
            ("queue_wait", metric(40.0 * slower, 4.0)),
        ]),
        remarks: Vec::new(),
    }
}

fn spread(p50: u64, p99: u64) -> Spread {
    Spread {
        p50: Span::micros(p50),
        p99: Span::micros(p99),
    }
}

fn trips(request: &'static str, p50: f64) -> RoundTrips {
    let took = metric(p50, 2.5);
    RoundTrips { request, took }
}

fn calibrated() -> CalibrationReport {
    let stages = [(1, 9_120.0), (2, 15_480.0), (4, 21_300.0), (8, 21_150.0)];
    let stages = stages.map(|(connections, per_second)| Stage {
        connections,
        per_second,
        driver_busy: 0.08 * f64::from(connections),
    });
    let measured = Calibration {
        target: "http://127.0.0.1:8894".to_owned(),
        protocol: "http",
        block: CalibrationBlock {
            capacity: CapacityTimes {
                service: spread(47, 105),
                commit: spread(22, 61),
            },
            network: NetworkTimes {
                latency: spread(31, 64),
            },
        },
        floor: trips("GET /healthz", 0.061),
        read: trips("check", 0.109),
        committed: trips("send_message", 0.131),
        stages: stages.to_vec(),
        remarks: vec!["</script><!-- a remark <img src=x onerror=alert(1)>".to_owned()],
    };
    let scales = [
        (1_u32, 1.0, 1.1),
        (2, 1.2, 1.3),
        (4, 1.9, 2.6),
        (8, 4.0, 13.0),
    ];
    let scales = scales.map(|(load, virtual_, live)| {
        LoadStage::of(f64::from(load), side(load, virtual_), side(load, live))
    });
    let (name, file) = ("brief".to_owned(), "scenarios/brief.yaml".to_owned());
    CalibrationReport {
        measured,
        sides: Some(ServerComparison::of(name, file, 42, scales.to_vec())),
        exit_code: 0,
    }
}

#[test]
fn both_worlds_are_a_page_that_asks_for_nothing() {
    let page = calibrated_html(&calibrated(), "0.1.0");
    fs::write(TestFolder::new().folder.join("both.html"), &page).unwrap();
    assert!(page.contains("<title>Virtual and live · brief</title>"));
    let data = data(&page);
    let ratios = &data["done"]["sides"]["scales"][3]["ratios"]["request_latency"];
    assert_eq!(ratios[0], 3.25);
    let told = list(&data["parts"]);
    assert_eq!(told.len(), 3);
    let furthest = "furthest at × 8, p50: 1.2ms virtual, 3.9ms live";
    let said = format!("live is 1.08 to 3.25 times the virtual; {furthest}");
    assert_eq!(told[0][1], said);
    assert!(page.len() < 100_000, "{} bytes", page.len());
    for word in ["https://", "fetch(", "import(", "innerHTML", "{{"] {
        assert!(!page.contains(word), "{word}");
    }
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(!page.contains("<!--") && !page.contains("<img"));
}

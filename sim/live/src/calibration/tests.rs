use super::*;
use sim_model::draw::{Actor, Draw, Quantiles};
use sim_model::outcome::{Calibration, RoundTrips};
use sim_model::plan::Plan;
use sim_report::calibration_yaml;

/// A number of draws of the sum of these parts.
fn trips(parts: &[Spread], times: u64) -> Distribution {
    let tables: Vec<Quantiles> = parts.iter().map(|part| part.quantiles()).collect();
    let mut draw = Draw::new(7, Actor::Server);
    let mut samples = Distribution::default();
    for _ in 0..times {
        samples.record(tables.iter().map(|table| table.draw(&mut draw)).sum());
    }
    samples
}

fn spread(p50: u64, p99: u64) -> Spread {
    Spread {
        p50: Span(p50),
        p99: Span(p99),
    }
}

fn stage(connections: u32, per_second: f64) -> Stage {
    Stage {
        connections,
        per_second,
        driver_busy: 0.5,
    }
}

/// The measurements of a server with these times and this largest throughput.
fn server(latency: Spread, service: Spread, commit: Spread, most: f64) -> Samples {
    Samples {
        floor: trips(&[latency, latency], 1_000),
        read: trips(&[latency, service, latency], 10_000),
        committed: trips(&[latency, service, latency, commit], 10_000),
        stages: vec![
            stage(1, most / 4.0),
            stage(2, most / 2.0),
            stage(4, most),
            stage(8, most * 0.98),
        ],
    }
}

fn assert_near(got: Spread, wanted: Spread) {
    let near = |got: Span, wanted: Span| got.0.abs_diff(wanted.0) * 8 <= wanted.0;
    let are_near = near(got.p50, wanted.p50) && near(got.p99, wanted.p99);
    assert!(are_near, "{got:?} for {wanted:?}");
}

#[test]
fn inference_recovers_a_server_s_times() {
    let (latency, service, commit) = (spread(200, 500), spread(40, 60), spread(1_500, 6_000));
    let block = server(latency, service, commit, 1e6 / 40.0).infer();
    assert_near(block.network.latency, latency);
    assert_near(block.capacity.commit, commit);
    // Its tail is that of a whole read, and its mean that of the best stage.
    let tail = block.capacity.service;
    let read = spread_of(&trips(&[latency, service, latency], 10_000));
    let ratio = |of: Spread| of.p99.0 as f64 / of.p50.0 as f64;
    assert!((ratio(tail) / ratio(read) - 1.0).abs() < 0.05, "{tail:?}");
}

#[test]
fn inferred_times_add_up_to_the_measured_ones() {
    let samples = server(spread(30, 90), spread(50, 400), spread(70, 900), 20_000.0);
    let block = samples.infer();
    let (away, takes) = (block.network.latency, block.capacity);
    let parts = [away, takes.service, away, takes.commit];
    for (parts, measured) in [(&parts[..3], &samples.read), (&parts, &samples.committed)] {
        assert_near(spread_of(&trips(parts, 20_000)), spread_of(measured));
    }
}

#[test]
fn the_virtual_server_has_the_throughput_of_the_best_stage() {
    for (service, most) in [(spread(50, 100), 20_000.0), (spread(200, 2_000), 3_000.0)] {
        let samples = server(spread(30, 90), service, spread(70, 90), most);
        let found = samples.infer().capacity.service;
        let mean = trips(&[found], 100_000).mean();
        let context = format!("{found:?} takes {mean}us on average");
        assert!((mean * most / 1e6 - 1.0).abs() < 0.05, "{context}");
    }
}

#[test]
fn the_service_time_is_at_most_that_of_a_read() {
    let mut samples = server(spread(30, 30), spread(50, 50), spread(70, 70), 20_000.0);
    samples.stages = vec![stage(1, 10.0)];
    assert_eq!(samples.infer().capacity.service.p50, Span(108));
    samples.stages.clear();
    assert_eq!(samples.infer().capacity.service.p50, Span(108));
}

#[test]
fn a_commit_without_a_measurable_time_gets_the_shortest() {
    let mut samples = server(spread(30, 90), spread(50, 100), spread(1, 1), 20_000.0);
    samples.committed = samples.floor.clone();
    let block = samples.infer();
    assert_eq!(block.capacity.commit, spread(1, 1));
    let remarks = samples.remarks(&block);
    let is_it = |remark: &String| remark.contains("as short as it can be");
    assert!(remarks.iter().any(is_it));
}

#[test]
fn times_are_at_least_a_microsecond() {
    let block = server(spread(1, 1), spread(1, 1), spread(1, 1), 5e6).infer();
    let capacity = block.capacity;
    for one in [block.network.latency, capacity.service, capacity.commit] {
        assert!(one.p50 >= Span(1) && one.p99 >= one.p50, "{one:?}");
    }
}

#[test]
fn doubtful_figures_have_remarks() {
    let mut samples = server(spread(30, 90), spread(50, 100), spread(70, 90), 20_000.0);
    let block = samples.infer();
    assert!(samples.remarks(&block).is_empty());
    samples.stages[2].driver_busy = 0.97;
    let remarks = samples.remarks(&block);
    assert!(remarks[0].contains("the driver, not the server"));
    assert!(remarks[0].contains("97%"), "{remarks:?}");
    samples.stages.truncate(3);
    samples.read = trips(&[spread(100, 300)], 50);
    let remarks = samples.remarks(&block);
    assert!(remarks[1].contains("at 4 connections"), "{remarks:?}");
    assert!(remarks[2].contains("50 round trips"), "{remarks:?}");
}

fn calibration() -> Calibration {
    let commit = spread(700, 2_000);
    let samples = server(spread(30, 90), spread(50, 100), commit, 20_000.0);
    let block = samples.infer();
    let trips = |request, took: &Distribution| RoundTrips {
        request,
        took: took.result(1_000.0),
    };
    Calibration {
        target: "http://127.0.0.1:8894".to_owned(),
        protocol: "http",
        block,
        floor: trips("GET /healthz", &samples.floor),
        read: trips("check", &samples.read),
        committed: trips("send_message", &samples.committed),
        stages: samples.stages.clone(),
        remarks: vec!["somebody slept".to_owned()],
    }
}

#[test]
fn a_scenario_accepts_the_calibration_block() {
    let measured = calibration();
    let block = calibration_yaml(&measured, "0.1.0");
    let text = format!(
        "name: s\nduration: 1s\nphases: [{{ name: a, duration: 1s, arrival_count: 1 }}]\n\
         scenarios: [{{ name: p, flow: [login, check] }}]\n{block}"
    );
    let parse = |text: &str| sim_scenario::parse("s.yaml", text).unwrap();
    let shapes = |plan: &Plan| {
        let (capacity, latency) = (&plan.capacity, plan.network.latency.shape());
        [capacity.service.shape(), capacity.commit.shape(), latency]
    };
    let (before, _) = text.split_once("# Measured").unwrap();
    let (plan, mut applied) = (parse(&text), parse(before));
    assert_ne!(shapes(&applied)[1], shapes(&plan)[1]);
    measured.block.apply(&mut applied);
    assert_eq!(shapes(&applied), shapes(&plan));
    // A program reads the same from JSON.
    let json = serde_json::to_value(&measured).unwrap();
    let (capacity, network) = (&json["capacity"], &json["network"]);
    let plan = parse(&format!(
        "{before}capacity: {capacity}\nnetwork: {network}\n"
    ));
    assert_eq!(shapes(&applied), shapes(&plan));
}

#[test]
fn the_calibration_block_names_its_origin() {
    insta::assert_snapshot!(calibration_yaml(&calibration(), "0.1.0"));
}

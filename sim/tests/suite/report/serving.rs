//! `sim serve`: the report while the run goes on, and after it.

use std::fs;
use std::io::{self, Read as _, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;
use sim::cli;
use sim::commands::execute;
use sim_model::history::Observer;
use sim_model::outcome::{Interrupt, Progress};
use sim_model::plan::Plan;
use sim_search::seed::run_seed;

use super::{BURST, TestFolder};
use crate::{console, list};

/// Passes on what is written.
struct Words(Sender<String>);

impl Write for Words {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn get(host: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(host).expect("it listens");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    body.to_owned()
}

/// Serves a run of `burst.yaml`. After its last step, the run sends on `at_the_end` and blocks until
/// it receives from `go_on`.
fn serve(
    said: Sender<String>,
    at_the_end: Sender<()>,
    go_on: Receiver<()>,
    over: Arc<AtomicBool>,
) -> u8 {
    let first = AtomicBool::new(true);
    let gate = Mutex::new((at_the_end, go_on));
    let run =
        |plan: &Plan, seed: u64, progress: &Progress, also: Option<&mut (dyn Observer + '_)>| {
            let outcome = run_seed(plan, seed, progress, also);
            if first.swap(false, Ordering::Relaxed) {
                let gate = gate.lock().expect("no test panicked");
                gate.0.send(()).expect("the test waits");
                gate.1.recv().expect("the test goes on");
            }
            outcome
        };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(BURST);
    let words = ["sim".into(), "serve".into(), file.into_os_string()];
    let (mut sink, mut said, interrupt) = (io::sink(), Words(said), Interrupt::of(over));
    let unasked = Path::new("target/sim");
    let mut console = console(&run, (&mut sink, &mut said), &interrupt, unasked);
    let invocation = cli::parse(words).expect("the words are right");
    execute(&invocation, &mut console)
}

#[test]
fn the_report_is_served_while_the_run_goes_on_and_after_it() {
    let folder = TestFolder::new();
    let leave = |name: &str, text: &str| fs::write(folder.folder.join(name), text).expect("room");
    let (said, hear) = channel();
    let (at_the_end, ended) = channel();
    let (go_on, gate) = channel();
    let over = Arc::new(AtomicBool::new(false));
    let its = Arc::clone(&over);
    let running = thread::spawn(move || serve(said, at_the_end, gate, its));

    let words = hear.recv().expect("the address");
    let host = words.strip_prefix("report: http://").expect("an address");
    let (host, _) = host.split_once('/').expect("an address");
    ended.recv().expect("the run is at its end");
    let page = get(host, "/");
    assert!(page.contains("connect-src 'self'") && page.contains("… RUNNING"));
    leave("served.html", &page);
    let text = get(host, "/data");
    leave("running.json", &text);
    let data: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(data["running"]["name"], "burst");
    let arrived = list(&data["running"]["series"]["arrived"]).iter();
    assert_eq!(arrived.filter_map(Value::as_u64).sum::<u64>(), 267);

    go_on.send(()).expect("the run waits");
    let report = loop {
        let text = get(host, "/data");
        let data: Value = serde_json::from_str(&text).expect("JSON");
        if data["runs"].is_array() {
            leave("done.json", &text);
            break data;
        }
        thread::yield_now();
    };
    assert_eq!(report["runs"][0]["verdict"], "pass");
    assert!(!running.is_finished());
    over.store(true, Ordering::Relaxed);
    assert_eq!(running.join().expect("no panic"), 0);
    assert!(TcpStream::connect(host).is_err(), "it still listens");
}

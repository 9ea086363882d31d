//! The driver with journals that are slow, that fail, or that cannot tell the outcome; and the
//! driver's limits.

use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use chat_core::config::{RateLimit, StickRule};
use chat_core::{
    Address, Addressees, Call, Caller, Command, Config, Earlier, Entry, Hub, Load, Node, Position,
    Read, Reader, Reject, Reply, Response, SecretHash, Span, Time,
};
use server_chat::driver::{
    self, Answered, Delivery, Ending, EventStream, MAX_QUEUED, NodeClient, Running,
};
use server_chat::view::View;
use server_storage::clock::{Clock, MachineClocks};
use server_storage::journal::{Fate, FateReporter, Journal, NoWrite};

/// A journal that does nothing by itself: the test decides the outcome of each batch.
#[derive(Clone, Default)]
struct ManualJournal(Arc<Mutex<ManualState>>);

#[derive(Default)]
struct ManualState {
    later: Option<FateReporter>,
    batches: Vec<(Time, Vec<Entry>)>,
    last: u64,
    /// Whether batches are committed as they arrive.
    loose: bool,
}

impl Journal for ManualJournal {
    fn attach(&mut self, later: FateReporter) {
        self.held().later = Some(later);
    }

    fn append(&mut self, now: Time, entries: &[Entry]) -> Option<Fate> {
        let mut held = self.held();
        if held.loose {
            let first = Position(held.last + 1);
            held.last += entries.len() as u64;
            return Some(Fate::Committed { first, at: now });
        }
        held.batches.push((now, entries.to_vec()));
        None
    }

    fn close(&mut self, _: &Hub) -> Result<(), NoWrite> {
        Ok(())
    }
}

impl ManualJournal {
    fn held(&self) -> MutexGuard<'_, ManualState> {
        self.0.lock().expect("no test panics with the lock")
    }

    /// Waits for a batch in flight.
    async fn batch(&self) -> usize {
        loop {
            if let Some((_, entries)) = self.held().batches.last() {
                return entries.len();
            }
            tokio::task::yield_now().await;
        }
    }

    fn tell(&self, fate: Fate) {
        let held = self.held();
        held.later.as_ref().expect("attached").tell(fate);
    }

    async fn commit(&self) {
        self.batch().await;
        let fate = {
            let mut held = self.held();
            let (at, entries) = held.batches.pop().expect("a batch");
            let first = Position(held.last + 1);
            held.last += entries.len() as u64;
            Fate::Committed { first, at }
        };
        self.tell(fate);
    }

    async fn fail(&self) {
        self.batch().await;
        self.held().batches.pop();
        self.tell(Fate::Failed);
    }

    fn loosen(&self) {
        self.held().loose = true;
    }
}

fn start(config: Config) -> (NodeClient, Running, ManualJournal) {
    let journal = ManualJournal::default();
    let node = Node::start(config, 7);
    let boxed = Box::new(journal.clone());
    let (client, running) = driver::start(node, boxed, None, Clock::start(), Arc::default());
    (client, running, journal)
}

/// A driver whose journal commits every batch at once.
async fn start_loose(config: Config) -> (NodeClient, Running) {
    let (client, running, journal) = start(config);
    journal.commit().await;
    journal.loosen();
    (client, running)
}

fn secret(n: u8) -> SecretHash {
    SecretHash([n; 16])
}

fn login(n: u8) -> Call {
    Call::Command {
        caller: Caller::New {
            handle: secret(n),
            reader: secret(n + 100),
            from: Address::default(),
        },
        key: None,
        command: Command::Login {
            username: format!("agent {n}").into(),
            room: "lobby".into(),
        },
    }
}

fn check(n: u8, wait: Span) -> Call {
    Call::Read {
        reader: Reader::Handle(secret(n)),
        read: Read::Check {
            after: None,
            wait,
            max: 10,
        },
    }
}

fn ask(client: &NodeClient, request: Call) -> tokio::task::JoinHandle<Answered> {
    let client = client.clone();
    tokio::spawn(async move { client.call(Address(1), request).await })
}

/// The answer to a request that is accepted.
async fn accepted(client: &NodeClient, request: Call) -> Response {
    let answered = client.call(Address(1), request).await;
    answered.outcome.expect("it is accepted")
}

async fn logged_in(client: &NodeClient, n: u8) {
    let response = accepted(client, login(n)).await;
    let is_in = matches!(response, Response::Done(Reply::LoggedIn { .. }));
    assert!(is_in, "{response:?}");
}

#[track_caller]
fn assert_unstored(refused: &Reject) {
    let is_it = matches!(refused, Reject::StorageUnavailable { .. });
    assert!(is_it, "{refused:?}");
}

/// Waits until the node's load satisfies `wanted`.
async fn until(client: &NodeClient, wanted: impl Fn(Load) -> bool) {
    while !wanted(client.look(|node| node.load()).await.expect("a driver")) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_leaves_before_its_cause_is_committed_and_batches_form_meanwhile() {
    let (client, _running, journal) = start(Config::default());
    journal.commit().await;
    let first = ask(&client, login(1));
    assert_eq!(journal.batch().await, 1);
    let others: Vec<_> = (2..10).map(|n| ask(&client, login(n))).collect();
    until(&client, |load| load.pending == 9).await;
    assert!(!first.is_finished() && others.iter().all(|call| !call.is_finished()));
    journal.commit().await;
    assert!(first.await.unwrap().outcome.is_ok());
    assert_eq!(journal.batch().await, 8, "what came meanwhile is one batch");
    journal.commit().await;
    for call in others {
        assert!(call.await.unwrap().outcome.is_ok());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_append_refuses_its_calls_and_heals() {
    let (client, _running, journal) = start(Config {
        registration_rate_limit: RateLimit::None,
        ..Config::default()
    });
    journal.commit().await;
    let call = ask(&client, login(1));
    journal.fail().await;
    assert_unstored(&call.await.unwrap().outcome.unwrap_err());
    journal.loosen();
    while let Err(reject) = client.call(Address(1), login(1)).await.outcome {
        assert_unstored(&reject);
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_that_takes_nothing_is_known_without_a_call_and_spares_the_batch_in_flight() {
    let (client, _running, journal) = start(Config::default());
    journal.commit().await;
    let is_refused = async || {
        journal.tell(Fate::Refused);
        let checked = client.look(|node| node.check_storage(Time(0))).await;
        checked.expect("a driver").is_err()
    };
    let call = ask(&client, login(1));
    journal.batch().await;
    assert!(!is_refused().await);
    journal.commit().await;
    assert!(call.await.unwrap().outcome.is_ok());
    assert!(is_refused().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_append_of_unknown_fate_stops_the_node_until_the_journal_says() {
    let (client, _running, journal) = start(Config::default());
    journal.commit().await;
    let call = ask(&client, login(1));
    journal.batch().await;
    journal.tell(Fate::Unknown);
    let refused = loop {
        // A call that arrives before the driver learns the outcome waits for the next batch; a
        // later one is refused.
        let late = ask(&client, login(2));
        client.look(|_| ()).await.expect("a driver");
        if late.is_finished() {
            break late.await.unwrap().outcome;
        }
        late.abort();
    };
    assert_unstored(&refused.unwrap_err());
    assert!(!call.is_finished());
    journal.commit().await;
    assert!(call.await.unwrap().outcome.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_channel_is_told_and_not_buffered() {
    let config = Config {
        rate_limit: RateLimit::None,
        ..Config::default()
    };
    let (client, _running) = start_loose(config).await;
    logged_in(&client, 1).await;
    let (go, wait) = mpsc::channel::<()>();
    let (began, begun) = tokio::sync::oneshot::channel();
    let busy = tokio::spawn({
        let client = client.clone();
        // This keeps the driver busy until the test releases it.
        let look = move |_: &View<'_>| {
            began.send(()).expect("the test waits for it");
            wait.recv().is_err()
        };
        async move { client.look(look).await }
    });
    begun.await.unwrap();
    let calls: Vec<_> = (0..MAX_QUEUED + 100)
        .map(|_| ask(&client, check(1, Span::ZERO)))
        .collect();
    // The calls beyond the limit are refused at once; the others wait for the driver.
    while calls.iter().filter(|call| call.is_finished()).count() < 100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(client.queued(), MAX_QUEUED);
    let refused = client.call(Address(1), check(1, Span::ZERO)).await.outcome;
    assert!(
        matches!(refused, Err(Reject::Overloaded { .. })),
        "{refused:?}"
    );
    assert!(client.look(|_| ()).await.is_err());
    drop(go);
    assert_eq!(busy.await.unwrap(), Ok(true));
    let mut served = 0;
    for call in calls {
        match call.await.unwrap().outcome {
            Ok(_) => served += 1,
            Err(reject) => assert!(matches!(reject, Reject::Overloaded { .. }), "{reject:?}"),
        }
    }
    assert_eq!(served, MAX_QUEUED);
    assert_eq!(client.queued(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_call_is_forgotten_by_the_driver() {
    let (client, _running) = start_loose(Config::default()).await;
    logged_in(&client, 1).await;
    // This reads the participant's own arrival, so that the next check waits.
    accepted(&client, check(1, Span::ZERO)).await;
    let waits = ask(&client, check(1, Span::secs(50)));
    until(&client, |load| load.parked == 1).await;
    waits.abort();
    until(&client, |load| load.parked == 0).await;
}

async fn stream(client: &NodeClient, n: u8) -> EventStream {
    let reader = Reader::ReaderId(secret(n + 100));
    let opened = client.open_stream(Address(1), reader, None).await;
    opened.expect("a stream of one who is registered").0
}

/// Limits under which one may say much.
fn talkative() -> Config {
    Config {
        rate_limit: RateLimit::None,
        stick: StickRule::Optional,
        ..Config::default()
    }
}

fn say(n: u8, text: &str) -> Call {
    Call::Command {
        caller: Caller::Handle(secret(n)),
        key: None,
        command: Command::SendMessage {
            room: None,
            text: text.into(),
            epoch: None,
            to: Addressees::ALL,
        },
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_takes_nothing_holds_nobody_up_and_misses_nothing_within_its_inbox() {
    const SAID: u64 = 300;
    let (client, _running) = start_loose(talkative()).await;
    for n in 1..=3 {
        logged_in(&client, n).await;
    }
    let (mut slow, mut quick) = (stream(&client, 2).await, stream(&client, 3).await);
    let reads = tokio::spawn(async move {
        let mut count = 0;
        while count < SAID {
            if let Delivery::Page { page, .. } = quick.next().await {
                count += page.events.len() as u64;
            }
        }
    });
    for n in 0..SAID {
        accepted(&client, say(1, &n.to_string())).await;
    }
    reads.await.unwrap();
    let mut next = None;
    let mut count = 0;
    while count < SAID {
        if let Delivery::Page { page, .. } = slow.next().await {
            assert_eq!(page.gaps, []);
            assert!(next.is_none_or(|next| page.first() == next));
            next = Some(page.cursor.next());
            count += page.events.len() as u64;
        }
    }
    assert_eq!(count, SAID);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_dropped_is_closed_and_one_that_is_forgotten_ends() {
    let (client, _running) = start_loose(Config::default()).await;
    logged_in(&client, 1).await;
    let dropped = stream(&client, 1).await;
    let mut kept = stream(&client, 1).await;
    until(&client, |load| load.streams == 2).await;
    drop(dropped);
    until(&client, |load| load.streams == 1).await;
    let leaves = Call::Command {
        caller: Caller::Handle(secret(1)),
        key: None,
        command: Command::Unregister,
    };
    accepted(&client, leaves).await;
    loop {
        match kept.next().await {
            Delivery::End(why) => break assert_eq!(why, Ending::Forgotten),
            Delivery::Page { .. } | Delivery::Notice { .. } => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_first_delivers_the_events_of_streams() {
    const SAID: u64 = 200;
    let (client, running) = start_loose(talkative()).await;
    for n in 1..=2 {
        logged_in(&client, n).await;
    }
    let mut reader = stream(&client, 2).await;
    for n in 0..SAID {
        accepted(&client, say(1, &n.to_string())).await;
    }
    client.stop(std::time::Instant::now() + std::time::Duration::from_secs(30));
    let mut count = 0;
    loop {
        match reader.next().await {
            Delivery::Page { page, .. } => count += page.events.len() as u64,
            Delivery::Notice { .. } => {}
            Delivery::End(why) => break assert_eq!(why, Ending::Closing),
        }
    }
    assert_eq!(count, SAID);
    running.ended().await.unwrap();
    let late = client.call(Address(1), say(1, "late")).await.outcome;
    let earlier = Earlier::Unasked;
    assert_eq!(late, Err(Reject::ShuttingDown { earlier }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_invariant_ends_the_driver_and_is_told() {
    let (client, mut running, journal) = start(Config::default());
    journal.commit().await;
    let call = ask(&client, login(1));
    journal.batch().await;
    // Positions other than the node's mean that the journal has lost or doubled entries.
    journal.tell(Fate::Committed {
        first: Position(99),
        at: Time(0),
    });
    assert_eq!(running.died().await, driver::Died::Panicked);
    // The outcome of the call cannot be known.
    let earlier = Earlier::Unknown;
    let lost = call.await.unwrap().outcome;
    assert_eq!(lost, Err(Reject::ShuttingDown { earlier }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_of_the_journal_that_panics_ends_the_driver() {
    let (_client, mut running, journal) = start(Config::default());
    journal.batch().await;
    let later = journal.held().later.take();
    let writer = std::thread::spawn(move || {
        let _later = later;
        panic!("on purpose");
    });
    assert!(writer.join().is_err());
    assert_eq!(running.died().await, driver::Died::Panicked);
}

#[tokio::test(start_paused = true)]
async fn a_pause_of_the_process_moves_deadlines() {
    let journal = ManualJournal::default();
    journal.loosen();
    let began = tokio::time::Instant::now();
    // Clocks that the test moves with those of the runtime.
    let clocks = MachineClocks {
        wall: Box::new(move || Time(0) + Span::secs(1_000_000 + began.elapsed().as_secs())),
        steady: Box::new(move || began.elapsed()),
    };
    let clock = Clock::of(clocks, Time(0));
    let node = Box::new(journal);
    let (client, _running) = driver::start(
        Node::start(Config::default(), 7),
        node,
        None,
        clock,
        Arc::default(),
    );
    logged_in(&client, 1).await;
    let deadlines = async || {
        client
            .look(|view| view.hub.deadlines())
            .await
            .expect("a driver")
    };
    let before = deadlines().await;
    assert!(!before.is_empty());
    let pause = Duration::from_secs(3_600);
    tokio::time::advance(pause).await;
    until(&client, |_| true).await;
    let after = deadlines().await;
    assert_eq!(after.len(), before.len(), "{before:?} {after:?}");
    for (before, after) in before.iter().zip(&after) {
        assert!(
            after.0 >= before.0 + Span::secs(pause.as_secs()),
            "{before:?} {after:?}"
        );
    }
}

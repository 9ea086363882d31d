//! Stalled or slow readers: the server disconnects them, tells them why, and other clients are
//! undisturbed.

use std::time::Duration;

use chat_core::Attendance;
use serde_json::json;
use server::listener::Pace;
use server_chat::capacity::Share;

use crate::http::world::{Setup, World};
use crate::stage::within;

/// The length of one message in bytes.
const MESSAGE: usize = 4_000;

/// The number of messages: more than all buffers hold.
const COUNT: usize = 2_000;

/// The most memory that a stalled reader may cost: the machine's buffers at both ends, the
/// connection's buffer, and the page that was being written.
const MOST_HELD: usize = 2 * 1_024 * 1_024;

#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_reader_is_closed_and_delays_no_other() {
    let mut setup = Setup::free();
    setup.config.inbox_limit = 500;
    setup.limits.pace.window = Duration::from_millis(500);
    let world = World::start(setup).await;
    let mut ann = world.register("Ann").await;
    let (ben, cid) = (world.register("Ben").await, world.register("Cid").await);
    let mut healthy = world.events(&ben.handle, None).await;
    let mut stalled = world.client().await;
    let headers = [("Chat-Handle", &*cid.handle)];
    let head = stalled.head("GET", "/events", &headers, None);
    stalled.write(head.as_bytes()).await;
    world.until(&cid.user, Attendance::Present, 1).await;
    for n in 0..COUNT {
        ann.say(&format!("{n} {}", "x".repeat(MESSAGE - 10))).await;
        let seen = healthy.until("message.received").await;
        let text = seen.json()["message"].as_str().unwrap().to_owned();
        assert_eq!(text.split(' ').next(), Some(&*n.to_string()));
    }
    world.until(&cid.user, Attendance::Reconnecting, 0).await;
    let held = stalled.rest().await;
    assert!(
        held.len() < MOST_HELD,
        "{} of {} bytes were held",
        held.len(),
        COUNT * MESSAGE
    );
    assert!(held.starts_with(b"HTTP/1.1 200"));
    let sizes = world.service.node().look(|view| view.sizes()).await;
    for size in sizes.expect("the node lives") {
        assert!(
            size.size <= size.limit,
            "{}: {} of {}",
            size.name,
            size.size,
            size.limit
        );
    }
    // The missed events are in the inbox, and a gap event tells which of them are lost.
    let mut again = world.events(&cid.handle, Some(0)).await;
    let gap = again.event().await.expect("it is told");
    assert!(gap.is("gap"), "{gap:?}");
    let mut next = gap.id.expect("a gap has the id of what it covers") + 1;
    let mut last = String::new();
    while !last.starts_with(&format!("{} ", COUNT - 1)) {
        let event = again.event().await.expect("it goes on");
        assert_eq!(event.id, Some(next));
        next += 1;
        last = event.json()["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_does_not_wait_for_a_stream_that_nobody_reads() {
    let world = World::free(|setup| setup.limits.pace.window = Duration::from_secs(3_600)).await;
    let (mut ann, cid) = (world.register("Ann").await, world.register("Cid").await);
    let mut stalled = world.client().await;
    let headers = [("Chat-Handle", &*cid.handle)];
    let head = stalled.head("GET", "/events", &headers, None);
    stalled.write(head.as_bytes()).await;
    world.until(&cid.user, Attendance::Present, 1).await;
    for n in 0..COUNT {
        ann.say(&format!("{n} {}", "x".repeat(MESSAGE - 10))).await;
    }
    // Its grace period is longer than any test takes.
    let by = std::time::Instant::now() + Duration::from_secs(3_600);
    world.closing.cancel();
    world.service.node().stop(by);
    within(world.running.ended()).await.expect("nothing broke");
    within(world.connections).await.expect("nothing broke");
    assert!(stalled.rest().await.starts_with(b"HTTP/1.1 200"));
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_take_something_now_and_then_are_cut_by_their_rate() {
    let mut setup = Setup::free();
    setup.limits.pace = Pace {
        // Within the window the reader takes far more bytes than the system waits for before it
        // continues to write.
        window: Duration::from_secs(2),
        // More bytes per second than any client reads, so that each reader counts as slow.
        least_rate: 1 << 40,
    };
    let world = World::start(setup).await;
    let (mut ann, cid) = (world.register("Ann").await, world.register("Cid").await);
    let mut slow = world.client().await;
    let headers = [("Chat-Handle", &*cid.handle)];
    let head = slow.head("GET", "/events", &headers, None);
    slow.write(head.as_bytes()).await;
    world.until(&cid.user, Attendance::Present, 1).await;
    // The reader takes some bytes all the time, and more messages are sent each time than it takes.
    within(async {
        while slow.some(MESSAGE).await.is_some() {
            for _ in 0..4 {
                ann.say(&"x".repeat(MESSAGE)).await;
            }
        }
    })
    .await;
    world.until(&cid.user, Attendance::Reconnecting, 0).await;
    let capacity = world.service.capacity();
    within(async {
        while capacity.streams.held() + capacity.answers.held() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_whose_answers_nobody_reads_makes_no_more_requests() {
    let mut setup = Setup::free();
    setup.limits.pace.window = Duration::from_secs(3_600);
    setup.config.max_answer_bytes = 1 << 20;
    setup.capacity.answers = Share::of(1 << 20, 1 << 18);
    let world = World::start(setup).await;
    let mut ann = world.register("Ann").await;
    let mut unread = world.client().await;
    for n in 0..100 {
        ann.say(&format!("{n} {}", "x".repeat(MESSAGE - 10))).await;
    }
    // Each of these responses has at least as many bytes as the machine's buffers at both ends
    // hold.
    let body = json!({ "room_id": ann.room, "limit": 100 }).to_string();
    let length = body.len().to_string();
    let headers = [
        ("Chat-Handle", &*ann.handle),
        ("Content-Type", "application/json"),
        ("Content-Length", &*length),
    ];
    let request = unread.head("POST", "/tools/history", &headers, None) + &body;
    let write = async {
        loop {
            unread.write(request.as_bytes()).await;
        }
    };
    let charged = async {
        while !is_charged(&world) {
            tokio::task::yield_now().await;
        }
    };
    // The server reads no more requests once it is charged, and a write then waits for ever.
    within(async {
        tokio::select! {
            () = write => {}
            () = charged => {}
        }
    })
    .await;
    let refused = ann.client.get("/users").await;
    refused.refuses(503, "overloaded");
    assert!(refused.text().contains("answers"), "{}", refused.text());
    assert_eq!(ann.client.get("/healthz").await.status, 200);
    drop(unread);
    within(async { while ann.client.get("/users").await.status != 200 {} }).await;
}

/// Whether one source has used its share of responses.
fn is_charged(world: &World) -> bool {
    let answers = &world.service.capacity().answers;
    answers.most_of_one() >= answers.share.each
}

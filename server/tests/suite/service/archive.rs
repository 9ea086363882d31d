//! Reads of the archive: what they cost their source.

use std::sync::Arc;

use chat_core::{Config, Node, Position};
use chat_journal::Identity;
use serde_json::json;
use server_chat::capacity::{Capacity, Limits, Source, Speed};
use server_chat::driver;
use server_chat::identity::Secrets;
use server_chat::service::{RequestOrigin, Service};
use server_chat::tools::Tool;
use server_settings::Retention;
use server_storage::clock::Clock;
use server_storage::history::{History, HistoryOptions};
use server_storage::journal::MemoryJournal;

use crate::service::{Seat, arguments, from};

#[tokio::test(start_paused = true)]
async fn one_rate_of_a_source_pays_for_its_searches_and_for_its_old_messages() {
    let folder = tempfile::tempdir().expect("a folder");
    let identity = Identity {
        realm: 1,
        seed: 7,
        secret: [1; 32],
    };
    let options = HistoryOptions {
        folder: folder.path().into(),
        origin: identity.origin(),
        end: Position(0),
        retention: Retention::default(),
        is_shared: false,
        server: None,
    };
    let history = History::start(options).expect("a thread");
    // A burst for one read.
    let archive = Some(Speed::new(1, 5));
    let capacity = Arc::new(Capacity::new(&Limits {
        archive,
        ..Limits::default()
    }));
    let journal = Box::new(MemoryJournal::default());
    let node = Node::start(Config::default(), 7);
    let (client, _running) = driver::start(node, journal, None, Clock::start(), Arc::default());
    let service = Service::new(client, Secrets::new(&identity.secret))
        .remembering(Some(history))
        .within(Arc::clone(&capacity));
    let delayed = || capacity.archive.waited() + capacity.archive.refused();
    let ann = Seat::at(&service);
    ann.ok(Tool::Login, json!({ "username": "Ann" })).await;
    let query = json!({ "query": "word" });
    ann.ok(Tool::Search, query.clone()).await;
    assert_eq!(delayed(), 0);
    ann.call(Tool::History, json!({})).await;
    assert_eq!(delayed(), 1);
    ann.call(Tool::Search, query.clone()).await;
    assert_eq!(delayed(), 2);
    let elsewhere = RequestOrigin {
        source: Source(2),
        ..from(Some(&ann.scope))
    };
    let found = service.perform(Tool::Search, arguments(query), &elsewhere);
    assert!(found.await.result.is_ok());
    assert_eq!(delayed(), 2, "another source has its own");
}

//! A service in this process whose journal is in memory, and the time limit of every wait for it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use chat_core::{Config, Node};
use server_chat::driver::{self, Running};
use server_chat::identity::Secrets;
use server_chat::service::Service;
use server_storage::clock::Clock;
use server_storage::journal::MemoryJournal;

/// The time limit of every wait in these tests. No test waits for it to pass.
pub(crate) const GUARD: Duration = Duration::from_secs(60);

/// Panics when the future takes longer than the time limit.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    let limited = tokio::time::timeout(GUARD, future);
    limited.await.expect("it takes too long")
}

/// Starts a service. It ends with its driver.
pub(crate) fn service(config: Config) -> (Service, Running) {
    let journal = Box::new(MemoryJournal::default());
    let node = Node::start(config, 7);
    let (client, running) = driver::start(node, journal, Clock::start(), Arc::default());
    (Service::new(client, Secrets::new(&[1; 32])), running)
}

//! The end of a run: unregisters all its users, so that none stays in the server's queue.

use std::sync::Arc;

use chat_types::{Span, Time};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::ask::Ask;
use super::caller::{CallerRequest, Session, perform};
use super::client::{Client, Identity};
use super::pool::Pool;
use super::target::Protocol;
use sim_model::protocol::{Command, Op};

/// The longest time for this.
const PATIENCE: Span = Span::secs(10);

/// The number of requests at once.
const AT_ONCE: usize = 64;

/// Unregisters all identities of these clients. Returns how many may have stayed.
pub(super) fn unregister(pool: &mut Pool, clients: &mut [Client]) -> usize {
    for client in clients.iter_mut() {
        client.stream = None;
        client.in_flight.clear();
    }
    let identities: Vec<&Identity> = clients.iter().flat_map(|one| &one.identities).collect();
    unregister_identities(pool, &identities)
}

/// Unregisters these identities, over plain HTTP in every protocol: MCP has no such tool. Where a server
/// lacks the route, they leave the queue at least. Returns how many may have stayed.
pub(super) fn unregister_identities(pool: &mut Pool, identities: &[&Identity]) -> usize {
    let until = pool.net.clock.now() + PATIENCE;
    let net = Arc::clone(&pool.net);
    let all = |want: &dyn Fn(&Identity) -> Option<CallerRequest>| -> Vec<Wanted> {
        let wants = identities.iter();
        let wants = wants.map(|one| Some((Arc::clone(&one.session), want(one)?)));
        wants.flatten().collect()
    };
    let unregister = all(&|one| {
        let request = net.writer.unregister(&one.handle()?);
        Some(CallerRequest::Alone(request))
    });
    let stayed = send_all(pool, until, unregister);
    if stayed > 0 {
        send_all(pool, until, all(&leave_queue));
    }
    if net.writer.protocol == Protocol::Mcp20251125 {
        let ends = all(&|one| {
            let request = net.writer.end_session(&one.session.known()?);
            Some(CallerRequest::Alone(request))
        });
        send_all(pool, until, ends);
    }
    stayed
}

type Wanted = (Arc<Session>, CallerRequest);

/// Sends these requests, a few at once, and waits for their results until `until`. Nothing is retried.
/// Returns how many did not succeed.
fn send_all(pool: &mut Pool, until: Time, wants: Vec<Wanted>) -> usize {
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    let tasks = wants.into_iter().map(|(session, want)| {
        let (net, slots, ticket) = (Arc::clone(&pool.net), Arc::clone(&slots), pool.ticket());
        async move {
            let asking = async {
                let _slot = slots.acquire().await;
                perform(&net, ticket, &session, want).await
            };
            let ended = timeout(net.clock.until(until), asking).await;
            matches!(ended, Ok(Ok(_)))
        }
    });
    let tasks: Vec<_> = tasks.collect();
    let results = pool.together(tasks).into_iter();
    results.filter(|succeeded| *succeeded != Some(true)).count()
}

fn leave_queue(identity: &Identity) -> Option<CallerRequest> {
    let op = Op::Command(Command::LeaveQueue);
    Some(CallerRequest::Call(Ask::new(Some(identity.handle()?), op)))
}

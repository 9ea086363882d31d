//! The end of a run: unregisters all its users, so that none stays in the server's queue.

use std::sync::Arc;

use chat_types::{Span, Time};

use super::ask::Ask;
use super::caller::{CallerRequest, Message, Session};
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
        for one in std::mem::take(&mut client.in_flight) {
            pool.cancel(one.ticket);
        }
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
    let (mut unfinished, mut under_way) = (wants.len(), 0);
    let mut todo = wants.into_iter();
    loop {
        while under_way < AT_ONCE
            && let Some((session, want)) = todo.next()
        {
            pool.send(0, &session, want);
            under_way += 1;
        }
        let left = pool.net.clock.until(until);
        if under_way == 0 || left.is_zero() {
            return unfinished;
        }
        let Ok(received) = pool.messages.recv_timeout(left) else {
            return unfinished;
        };
        if let Message::Ended { ticket, result } = received.message
            && pool.finish(ticket).is_some()
        {
            under_way -= 1;
            unfinished -= usize::from(result.is_ok());
        }
    }
}

fn leave_queue(identity: &Identity) -> Option<CallerRequest> {
    let op = Op::Command(Command::LeaveQueue);
    Some(CallerRequest::Call(Ask::new(Some(identity.handle()?), op)))
}

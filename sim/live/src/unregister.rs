//! The end of a run: unregisters all its users, so that none stays in the server's queue.

use std::sync::Arc;

use chat_types::{Span, Time};

use super::ask::Ask;
use super::caller::{CallerRequest, Message, Session};
use super::client::{Client, Identity};
use super::pool::Pool;
use super::target::Protocol;
use sim_model::protocol::Op;

/// The longest time for this.
const PATIENCE: Span = Span::secs(10);

/// The number of requests at once.
const AT_ONCE: usize = 64;

/// Unregisters all identities of these clients, as far as the protocol can.
pub(super) fn unregister(pool: &mut Pool, clients: &mut [Client]) {
    for client in clients.iter_mut() {
        client.stream = None;
        for one in std::mem::take(&mut client.in_flight) {
            pool.cancel(one.ticket);
        }
    }
    let identities: Vec<&Identity> = clients.iter().flat_map(Client::identities).collect();
    unregister_identities(pool, &identities);
}

/// Unregisters these identities.
pub(super) fn unregister_identities(pool: &mut Pool, identities: &[&Identity]) {
    let until = pool.net.clock.now() + PATIENCE;
    let protocol = pool.net.writer.protocol;
    send_all(pool, until, participants(protocol, identities));
    if protocol == Protocol::Mcp20251125 {
        send_all(pool, until, sessions(identities));
    }
}

type Wanted = (Arc<Session>, CallerRequest);

/// Sends these requests, a few at once, and waits for their results until `until`.
fn send_all(pool: &mut Pool, until: Time, wants: Vec<Wanted>) {
    let (mut todo, mut under_way) = (wants.into_iter(), 0);
    loop {
        while under_way < AT_ONCE
            && let Some((session, want)) = todo.next()
        {
            pool.send(&session, want);
            under_way += 1;
        }
        let left = pool.net.clock.until(until);
        if under_way == 0 || left.is_zero() {
            return;
        }
        let Ok(received) = pool.messages().recv_timeout(left) else {
            return;
        };
        // The results do not matter, and nothing is retried.
        if let Message::Answered { ticket, .. }
        | Message::Read { ticket, .. }
        | Message::Failed { ticket, .. } = received.message
        {
            under_way -= usize::from(pool.finish(ticket));
        }
    }
}

/// The requests that unregister participants. MCP has none, so there they leave the queue.
fn participants(protocol: Protocol, identities: &[&Identity]) -> Vec<Wanted> {
    let mut wants = Vec::new();
    for identity in identities {
        let Some(credentials) = &identity.credentials else {
            continue;
        };
        let handle = Arc::clone(&credentials.handle);
        wants.push(match protocol {
            Protocol::Http => (
                Arc::clone(&identity.session),
                CallerRequest::Unregister { handle },
            ),
            Protocol::Mcp20260728 | Protocol::Mcp20251125 => out_of_the_line(identity, handle),
        });
    }
    wants
}

fn sessions(identities: &[&Identity]) -> Vec<Wanted> {
    identities
        .iter()
        .filter_map(|identity| {
            let id = identity.session.known()?;
            Some((
                Arc::clone(&identity.session),
                CallerRequest::EndSession { id },
            ))
        })
        .collect()
}

fn out_of_the_line(identity: &Identity, handle: Arc<str>) -> Wanted {
    let ask = Ask {
        handle: Some(handle),
        key: None,
        op: Op::LeaveQueue,
        room: None,
    };
    (Arc::clone(&identity.session), CallerRequest::Call(ask))
}

//! The end of a run: unregisters all its users, so that none stays in the server's queue.

use std::sync::Arc;

use chat_types::{Span, Time};

use super::ask::Ask;
use super::caller::{News, Session, Want};
use super::client::{Client, Seat};
use super::pool::Pool;
use super::target::Protocol;
use sim_model::protocol::Op;

/// The longest time for this.
const PATIENCE: Span = Span::secs(10);

/// The number of requests at once.
const AT_ONCE: usize = 64;

/// Unregisters all identities of these clients, as far as the protocol can.
pub(super) fn leave(pool: &mut Pool, clients: &mut [Client]) {
    for client in clients.iter_mut() {
        client.stream = None;
        for one in std::mem::take(&mut client.in_flight) {
            pool.cancel(one.ticket);
        }
    }
    let seats: Vec<&Seat> = clients.iter().flat_map(Client::seats).collect();
    empty(pool, &seats);
}

/// Unregisters these identities.
pub(super) fn empty(pool: &mut Pool, seats: &[&Seat]) {
    let until = pool.net.clock.now() + PATIENCE;
    let protocol = pool.net.writer.protocol;
    send_all(pool, until, participants(protocol, seats));
    if protocol == Protocol::Mcp20251125 {
        send_all(pool, until, sessions(seats));
    }
}

type Wanted = (Arc<Session>, Want);

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
        let Ok(told) = pool.told().recv_timeout(left) else {
            return;
        };
        // The results do not matter, and nothing is retried.
        if let News::Answered { ticket, .. }
        | News::Read { ticket, .. }
        | News::Failed { ticket, .. } = told.news
        {
            under_way -= usize::from(pool.settled(ticket));
        }
    }
}

/// The requests that unregister participants. MCP has none, so there they leave the queue.
fn participants(protocol: Protocol, seats: &[&Seat]) -> Vec<Wanted> {
    let mut wants = Vec::new();
    for seat in seats {
        let Some(credentials) = &seat.credentials else {
            continue;
        };
        let handle = Arc::clone(&credentials.handle);
        wants.push(match protocol {
            Protocol::Http => (Arc::clone(&seat.session), Want::Unregister { handle }),
            Protocol::Mcp20260728 | Protocol::Mcp20251125 => out_of_the_line(seat, handle),
        });
    }
    wants
}

fn sessions(seats: &[&Seat]) -> Vec<Wanted> {
    seats
        .iter()
        .filter_map(|seat| {
            let id = seat.session.known()?;
            Some((Arc::clone(&seat.session), Want::EndSession { id }))
        })
        .collect()
}

fn out_of_the_line(seat: &Seat, handle: Arc<str>) -> Wanted {
    let ask = Ask {
        handle: Some(handle),
        key: None,
        op: Op::LeaveQueue,
        room: None,
    };
    (Arc::clone(&seat.session), Want::Call(ask))
}

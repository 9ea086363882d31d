//! The tiny worlds: their set-up, and the actions that are possible in a state.

use chat_types::config::{Limit, RateLimit};
use chat_types::{Config, Span};
use sim_model::outcome::{Action, TinyCall, TinyWorld};

use super::client::Client;
use super::tiny::Tiny;
use crate::workload::plan_of;
use TinyCall::{Append, Block, Check, Claim, Enter, Leave, LeaveQueue, Login, Push, Reset, Send};
use sim_model::plan::Plan;

/// The calls of a world, and those whose answers may be lost: whose repetition could show an error.
const fn asks(world: TinyWorld) -> (&'static [TinyCall], &'static [TinyCall]) {
    match world {
        TinyWorld::Queue => (
            &[Enter, LeaveQueue, Send, Leave, Block, Check],
            &[Enter, Send, Leave],
        ),
        TinyWorld::Room => (
            &[Claim, Append, Push, Send, Reset, Leave, Login, Check],
            &[Claim, Append, Push],
        ),
    }
}

/// The calls by which each user of a world is registered.
pub(super) const fn first_calls(world: TinyWorld) -> &'static [TinyCall] {
    match world {
        TinyWorld::Queue => &[Enter, LeaveQueue],
        TinyWorld::Room => &[Login],
    }
}

/// The world before its first step: all clients are registered, have a stream and have read all
/// events.
pub(super) fn begin(world: TinyWorld, plan: &Plan, users: u8) -> Tiny {
    let mut tiny = Tiny::new(plan, users);
    for user in 0..users {
        for ask in first_calls(world) {
            tiny.apply(Action::Call(user, *ask));
        }
        tiny.apply(Action::Reconnect(user));
    }
    for user in 0..users {
        tiny.apply(Action::Call(user, Check));
    }
    tiny
}

/// The possible actions, in a fixed order. `faults` is the largest number of faults on one path.
pub(super) fn actions(world: TinyWorld, tiny: &Tiny, faults: u8) -> Vec<Action> {
    let mut actions = Vec::new();
    for client in tiny.clients.iter().filter(|client| client.user.is_some()) {
        let user = client.number;
        let may = |ask: &&TinyCall| may_ask(client, **ask);
        let (asks, losable) = asks(world);
        let asks = asks.iter().filter(may);
        actions.extend(asks.map(|ask| Action::Call(user, *ask)));
        if client.unanswered.is_some() {
            actions.push(Action::Retry(user));
        } else {
            let losable = losable.iter().filter(may);
            actions.extend(losable.map(|ask| Action::Lost(user, *ask)));
        }
        actions.push(match client.stream {
            Some(_) => Action::Disconnect(user),
            None => Action::Reconnect(user),
        });
    }
    if tiny.has_deadline() {
        actions.push(Action::Deadline);
    }
    actions.push(Action::Crash);
    actions.retain(|action| !action.is_fault() || tiny.faults < faults);
    actions
}

/// Whether a client with this knowledge can make this call, which needs the id of a room. A call
/// that will probably be refused is possible.
fn may_ask(client: &Client, ask: TinyCall) -> bool {
    match ask {
        Enter | LeaveQueue | Block => true,
        // A client with a stream has received all that a check could return.
        Check => client.stream.is_none(),
        Login => !client.in_room,
        Leave | Claim | Append | Push | Reset | Send => client.room.is_some(),
    }
}

/// The plan by which both worlds are judged. Spans are whole seconds and differ from one another, so that
/// lease, grace period, idle timeout and the end of a registration are distinct.
pub(super) fn plan() -> Plan {
    plan_of(Config {
        stick_lease: Span::secs(4),
        reconnect_grace: Span::secs(3),
        idle_timeout: Span::secs(30),
        unused_timeout: Span::secs(30),
        forget_after: Span::secs(60),
        rate_limit: RateLimit::None,
        turn_limit: Limit::None,
        max_draft: 2,
        max_ended_rooms: 1,
        ..Config::default()
    })
}

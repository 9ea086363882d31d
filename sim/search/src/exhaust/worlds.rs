//! The tiny worlds: how each is set up, and what may happen in it next.

use sim_model::outcome::{Action, Ask, TinyWorld};

use super::client::Client;
use super::tiny::Tiny;
use sim_model::plan::Plan;

/// The server of both worlds. Spans are whole seconds, apart from one another, so that lease,
/// grace, idle timeout and being forgotten come in an order of their own.
const SERVER: &str = "\
name: exhaust
about: A tiny world whose every interleaving is tried.
duration: 1s
server:
  stick_lease: 4s
  reconnect_grace: 3s
  idle_timeout: 30s
  unused_timeout: 30s
  forget_after: 60s
  rate_limit: none
  turn_limit: none
  max_draft: 2
  max_ended_rooms: 1
users: [a]
steps: [{ at: 0s, user: a, do: check }]
";

/// What clients ask for here.
const fn asks(world: TinyWorld) -> &'static [Ask] {
    match world {
        TinyWorld::Line => &[
            Ask::Enter,
            Ask::LeaveQueue,
            Ask::Send,
            Ask::Leave,
            Ask::Block,
            Ask::Check,
        ],
        TinyWorld::Room => &[
            Ask::Claim,
            Ask::Append,
            Ask::Push,
            Ask::Send,
            Ask::Reset,
            Ask::Leave,
            Ask::Login,
            Ask::Check,
        ],
    }
}

/// The calls whose answer may be lost here: those whose repetition would show.
const fn losable(world: TinyWorld) -> &'static [Ask] {
    match world {
        TinyWorld::Line => &[Ask::Enter, Ask::Send, Ask::Leave],
        TinyWorld::Room => &[Ask::Claim, Ask::Append, Ask::Push],
    }
}

/// The world before its first step: everybody is registered, holds a stream and has read all.
pub(super) fn begin(world: TinyWorld, plan: &Plan, users: u8) -> Tiny {
    let mut tiny = Tiny::new(plan, users);
    for user in 0..users {
        match world {
            TinyWorld::Line => {
                tiny.set_up(user, Ask::Enter);
                tiny.set_up(user, Ask::LeaveQueue);
            }
            TinyWorld::Room => tiny.set_up(user, Ask::Login),
        }
        tiny.apply(Action::Reconnect(user));
    }
    for user in 0..users {
        tiny.set_up(user, Ask::Check);
    }
    tiny
}

/// What may happen next, in an order that never changes.
/// `faults` is how many things may go wrong on one path.
pub(super) fn actions(world: TinyWorld, tiny: &Tiny, faults: u8) -> Vec<Action> {
    let mut actions = Vec::new();
    for client in tiny.clients().iter().filter(|client| client.user.is_some()) {
        let user = client.number;
        let may = |ask: &&Ask| may_ask(client, **ask);
        actions.extend(
            asks(world)
                .iter()
                .filter(may)
                .map(|ask| Action::Call(user, *ask)),
        );
        if client.unanswered.is_some() {
            actions.push(Action::Retry(user));
        } else {
            let losable = losable(world).iter().filter(may);
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
    actions.retain(|action| !action.is_fault() || tiny.faults() < faults);
    actions
}

/// Whether a client that knows what this one knows can ask this: a room must be known by its id.
/// What is likely to be refused is asked all the same.
fn may_ask(client: &Client, ask: Ask) -> bool {
    match ask {
        Ask::Enter | Ask::LeaveQueue | Ask::Block => true,
        // Who has a stream has had all that a check could bring.
        Ask::Check => client.stream.is_none(),
        Ask::Login => !client.in_room,
        Ask::Leave | Ask::Claim | Ask::Append | Ask::Push | Ask::Reset | Ask::Send => {
            client.room.is_some()
        }
    }
}

/// The plan by which both worlds are judged.
///
/// # Panics
/// When the text above is no scenario, which a test would show.
pub(super) fn plan() -> Plan {
    sim_scenario::parse("exhaust", SERVER).expect("the tiny worlds' server is a scenario")
}

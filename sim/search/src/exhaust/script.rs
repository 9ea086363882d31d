//! A path of a tiny world as a scenario in the steps form, which the simulator runs like any other.
//!
//! A step of a path takes ten milliseconds there, in which a call is answered and its events are
//! delivered. Where a path waits for a deadline, so do the steps. A closed stream stays closed
//! until the path opens it again, a call whose answer was lost is repeated where the path repeats
//! it, and a crash closes all streams.
//!
//! Three things cannot be expressed. Clients of a path block the next client, but users of a
//! scenario only their partner or the last sender. A user of a scenario does not name a room that
//! it has left. And a user that lost its stream after an answer repeats the call only after it has
//! a stream again. A path that needs one of these gives another history as a scenario.

use std::collections::BTreeMap;

use chat_types::Span;

use super::client::Client as TinyClient;
use super::worlds::{begin, first_calls, plan};
use crate::panics::catch_panic;
use crate::shrink::recorded_call;
use sim_model::outcome::{Action, TinyCall, TinyWorld, user_letter};
use sim_model::plan::{
    Argument, Client, Delivery, Fault, FaultKind, Net, Outage, Plan, ScriptStep, ScriptUser, Step,
    Text, Verb, Workload,
};
use sim_model::protocol::ReadBy;

/// The duration of a step.
const STEP: Span = Span::millis(10);

/// How much later than a path a scenario waits for a deadline, because its calls take longer.
/// Deadlines of the tiny worlds are a second apart or more.
const LATER: Span = Span::millis(200);

/// The downtime of a crash.
const DOWN: Span = Span::millis(1);

/// The path as a scenario with this name, as far as it can be expressed.
pub(super) fn script(world: TinyWorld, users: u8, path: &[Action], called: &str) -> Plan {
    let mut writer = Writer {
        users,
        ..Writer::default()
    };
    for user in 0..users {
        for ask in first_calls(world) {
            writer.call(user, *ask);
        }
    }
    let base = plan();
    let mut tiny = begin(world, &base, users);
    for action in path {
        let before = tiny.now;
        // At its last step the server may panic.
        let ended = catch_panic(|| tiny.apply(*action));
        let passed = ended.map_or(Span::ZERO, |_| tiny.now.since(before));
        writer.act(*action, passed);
    }
    writer.into_plan(base, called)
}

/// Writes the steps.
#[derive(Default)]
struct Writer {
    at: Span,
    users: u8,
    steps: Vec<ScriptStep>,
    faults: Vec<Fault>,
    /// For each user without a stream, the step since which it has none.
    away: BTreeMap<u8, usize>,
    /// For each user whose answer was lost, the step of the call.
    lost: BTreeMap<u8, usize>,
    /// The timeout after which clients retry.
    timeout: Option<Span>,
}

impl Writer {
    fn act(&mut self, action: Action, passed: Span) {
        match action {
            Action::Call(user, ask) => return self.call(user, ask),
            Action::Lost(user, ask) => {
                let index = self.write_call(user, ask);
                self.steps[index].net.reply = Some(Delivery::Lost);
                self.lost.insert(user, index);
            }
            Action::Retry(user) => {
                if let Some(index) = self.lost.remove(&user) {
                    let since = self.at - self.steps[index].at;
                    self.timeout.get_or_insert(since);
                }
            }
            Action::Disconnect(user) => self.go_away(user),
            Action::Reconnect(user) => {
                if let Some(index) = self.away.remove(&user) {
                    self.steps[index].what = Step::Disconnect(Some(self.at - self.steps[index].at));
                }
            }
            Action::Deadline => self.at = self.at + passed + LATER,
            Action::Crash => {
                let (down_for, how) = (DOWN, Outage::CrashUnsynced);
                let crash = FaultKind::Down { down_for, how };
                self.faults.push(Fault::once(self.at, crash));
                (0..self.users).for_each(|user| self.go_away(user));
            }
        }
        self.at = self.at + STEP;
    }

    fn call(&mut self, user: u8, ask: TinyCall) {
        let index = self.write_call(user, ask);
        // Calls of a path have a key only if they may be repeated.
        if ask != TinyCall::Check {
            self.steps[index].leave_out.push(Argument::Key);
        }
        self.at = self.at + STEP;
    }

    /// Records that the stream is closed until the path opens it again.
    fn go_away(&mut self, user: u8) {
        if !self.away.contains_key(&user) {
            let index = self.write(user, Step::Disconnect(Some(Span::ZERO)));
            self.away.insert(user, index);
        }
    }

    fn write_call(&mut self, user: u8, ask: TinyCall) -> usize {
        let index = self.write(user, Step::Call(verb(user, ask)));
        // Only a push names a grant.
        if matches!(ask, TinyCall::Append | TinyCall::Send) {
            self.steps[index].leave_out.push(Argument::Epoch);
        }
        index
    }

    fn write(&mut self, user: u8, what: Step) -> usize {
        self.steps.push(ScriptStep {
            whom: None,
            at: self.at,
            user: u32::from(user),
            what,
            leave_out: Vec::new(),
            net: Net::default(),
        });
        self.steps.len() - 1
    }

    fn into_plan(mut self, base: Plan, called: &str) -> Plan {
        for index in self.away.into_values() {
            self.steps[index].what = Step::Disconnect(Some(self.at - self.steps[index].at));
        }
        for index in self.lost.into_values() {
            self.steps[index].leave_out.push(Argument::Retries);
        }
        let client = self.timeout.map_or(base.client, |timeout| Client {
            timeout,
            max: timeout,
            ..base.client
        });
        let user = |number| ScriptUser {
            name: user_letter(number).to_string(),
            stream: Some(ReadBy::Handle),
            ..ScriptUser::default()
        };
        Plan {
            name: called.to_owned(),
            about: String::new(),
            duration: self.at,
            client,
            workload: Workload::Steps {
                users: (0..self.users).map(user).collect(),
                steps: self.steps,
            },
            faults: self.faults,
            ..base
        }
    }
}

/// The call of a user as a step writes it, with its text.
fn verb(user: u8, ask: TinyCall) -> Verb {
    let op = TinyClient::new(user).op(ask, None);
    let mut verb = recorded_call::verb(&op, Some(&user_letter(user).to_string()));
    if let (Verb::Send(words) | Verb::Speak(words) | Verb::Append(words), Some(text)) =
        (&mut verb, op.text())
    {
        *words = Text::Words(text.clone());
    }
    verb
}

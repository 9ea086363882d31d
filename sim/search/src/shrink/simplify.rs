//! A pass that simplifies steps, the network and the server's configuration.

use std::sync::Arc;

use chat_types::{Config, Span};
use serde_json::Value as Json;
use sim_scenario::{entries, with_entry};

use super::attempts::fixed;
use super::candidates::{Shrinker, steps};
use super::compress_time::moments;
use crate::workload::script_mut;
use sim_model::names::properties_of;
use sim_model::plan::{
    FaultKind, Grant, Milestone, Net, Opening, OperatorAct, OwnerReads, Plan, Schedule, ScriptStep,
    ScriptUser, ServersNeeded, Step, Text, USUAL_CLIENT, Verb, Victims, usual_capacity,
    usual_network,
};
use sim_model::protocol::ReadBy;

/// The values to which limits are lowered, so that fewer steps reach them.
const LOWER: [u64; 6] = [1, 2, 3, 4, 6, 8];

/// The largest number of moments, and of counts, for which a milestone is tried.
const MOST_MOMENTS: usize = 64;
const MOST_COUNTS: usize = 8;

/// Limits are lowered only for plans with more steps than this.
const MANY_STEPS: usize = 6;

/// A simplification of a step.
type Simplify = fn(&mut ScriptStep);

/// The simplest first. None undoes the effect of an earlier one.
const SIMPLIFICATIONS: [Simplify; 14] = [
    |step| step.net = Net::default(),
    |step| step.net.retries.clear(),
    |step| step.net.push.clear(),
    |step| step.net.duplicate = None,
    |step| step.net.duplicate_reply = None,
    |step| step.net.reply = None,
    |step| step.net.request = None,
    |step| step.leave_out.clear(),
    |step| _ = step.leave_out.pop(),
    |step| step.whom = None,
    |step| reword(step, Text::Words("x".into())),
    |step| reword(step, Text::Length(fixed(1))),
    plain_verb,
    |step| _ = step.net.push.pop(),
];

/// Only tried for all steps at once: moves all users into one room, and lets them register by their own
/// names.
const FOR_ALL: [Simplify; 2] = [
    |step| {
        if let Step::Call(Verb::Login { room, .. }) = &mut step.what {
            *room = "lobby".into();
        }
    },
    |step| {
        let what = &mut step.what;
        if let Step::Call(Verb::Login { name, .. } | Verb::EnterQueue { name, .. }) = what {
            *name = None;
        }
    },
];

/// Replaces the text by a shorter one.
fn reword(step: &mut ScriptStep, words: Text) {
    let length = |text: &Text| match text {
        Text::Words(words) => words.chars().count() as u64,
        Text::Length(length) | Text::Letters(_, length) => length.max(),
    };
    if let Step::Call(Verb::Send(text) | Verb::Speak(text) | Verb::Append(text)) = &mut step.what
        && length(text) > length(&words)
    {
        *text = words;
    }
}

/// Removes interests, chosen names and ids, waits and epochs, and reads by handle.
fn plain_verb(step: &mut ScriptStep) {
    if let Step::Call(Verb::EnterQueue {
        name,
        user_id,
        interests,
    }) = &mut step.what
    {
        (*name, *user_id, *interests) = (None, None, Arc::default());
    } else if let Step::Call(Verb::Check { wait, by }) = &mut step.what {
        (*wait, *by) = (Span::ZERO, ReadBy::Handle);
    } else if let Step::Call(Verb::TalkingStick(grant) | Verb::Undo(grant) | Verb::Reset(grant)) =
        &mut step.what
    {
        *grant = Grant::Unnamed;
    }
}

/// One server in place of several, without the faults that only several have.
fn one_server(plan: &mut Plan) {
    let sleeps = plan.workload.sleeps();
    if plan.properties == properties_of(plan.servers, sleeps) {
        plan.properties = properties_of(1, sleeps);
    }
    plan.servers = 1;
    plan.reads = OwnerReads::Lease;
    plan.faults
        .retain(|fault| matches!(fault.kind.row().servers, None | Some(ServersNeeded::One)));
}

/// Reads within leases, without the faults that need strict ones.
fn leased_reads(plan: &mut Plan) {
    plan.reads = OwnerReads::Lease;
    plan.faults
        .retain(|fault| fault.kind.row().servers != Some(ServersNeeded::Strict));
}

impl Shrinker<'_> {
    pub(super) fn simplify(&mut self, plan: &mut Plan) {
        self.default_environment(plan);
        for simplify in SIMPLIFICATIONS {
            // Changing all steps at once often works, and saves trying them one by one.
            if self.simplify_all(plan, simplify) {
                continue;
            }
            for index in (0..steps(plan)).rev() {
                // Some simplifications remove one part at a time.
                loop {
                    let mut one = script_mut(plan).1[index].clone();
                    simplify(&mut one);
                    let is_simpler = one != script_mut(plan).1[index];
                    if !is_simpler || !self.attempt(plan, |plan| script_mut(plan).1[index] = one) {
                        break;
                    }
                }
            }
        }
        for simplify in FOR_ALL {
            self.simplify_all(plan, simplify);
        }
        self.default_users(plan);
        self.remove_victims(plan);
        self.lower_milestones(plan);
    }

    /// Simplifies every step at once. Returns whether that was kept.
    fn simplify_all(&mut self, plan: &mut Plan, simplify: Simplify) -> bool {
        self.attempt(plan, |plan| {
            script_mut(plan).1.iter_mut().for_each(simplify)
        })
    }

    /// Sets the network, the clients, the disk and the server to their defaults.
    pub(super) fn default_environment(&mut self, plan: &mut Plan) {
        let changes: [fn(&mut Plan); 7] = [
            one_server,
            leased_reads,
            |plan| plan.schedule = Schedule::Plain,
            |plan| plan.network = usual_network(),
            |plan| {
                let snapshot_every = plan.capacity.snapshot_every;
                plan.capacity = usual_capacity();
                plan.capacity.snapshot_every = snapshot_every;
            },
            |plan| plan.capacity.snapshot_every = usual_capacity().snapshot_every,
            |plan| plan.client = USUAL_CLIENT,
        ];
        for change in changes {
            self.attempt(plan, change);
        }
        if self.attempt(plan, |plan| plan.server = Config::default()) {
            return;
        }
        for (key, value) in entries(&Config::default()) {
            self.attempt(plan, |plan| set(&mut plan.server, &key, value));
        }
    }

    /// Lowers limits, so that fewer steps reach them.
    pub(super) fn lower_limits(&mut self, plan: &mut Plan) {
        for (key, usual) in entries(&Config::default()) {
            if steps(plan) <= MANY_STEPS {
                return;
            }
            for lower in LOWER {
                let now = entries(&plan.server).remove(&key);
                let Some(value) = now.and_then(|now| lowered_to(lower, &now, &usual)) else {
                    break;
                };
                let mut lowered = plan.clone();
                set(&mut lowered.server, &key, value);
                if lowered.server == plan.server || !self.still_fails(&lowered) {
                    continue;
                }
                // Most limits are irrelevant, which must be cheap to find out.
                if !self.can_remove_an_eighth(&lowered) {
                    break;
                }
                if self.prefer_shorter(plan, lowered) {
                    break;
                }
            }
        }
    }

    /// Gives every user one stream, opened by its handle.
    fn default_users(&mut self, plan: &mut Plan) {
        for index in 0..plan.workload.users().len() {
            let changes: [fn(&mut ScriptUser); 3] = [
                |user| user.stream = user.stream.map(|_| ReadBy::default()),
                |user| _ = user.stream.get_or_insert_default(),
                |user| user.keeps_handle = false,
            ];
            for change in changes {
                self.attempt(plan, |plan| change(&mut script_mut(plan).0[index]));
            }
            self.remove_openings(plan, index);
        }
    }

    /// Removes the recorded openings of a user's stream, or as many as possible.
    fn remove_openings(&mut self, plan: &mut Plan, user: usize) {
        if self.attempt_openings(plan, user, Vec::clear) {
            return;
        }
        while self.attempt_openings(plan, user, |opens| {
            opens.pop();
        }) {}
        for index in 0..plan.workload.users()[user].opens.len() {
            let changes: [fn(&mut Opening); 6] = [
                |opening| opening.by = None,
                |opening| opening.beside = None,
                |opening| opening.beside = opening.beside.map(|_| Span::secs(1)),
                |opening| opening.bare = false,
                |opening| opening.request = None,
                |opening| opening.reply = None,
            ];
            for change in changes {
                self.attempt_openings(plan, user, |opens| change(&mut opens[index]));
            }
        }
    }

    fn attempt_openings(
        &mut self,
        plan: &mut Plan,
        user: usize,
        change: impl Fn(&mut Vec<Opening>),
    ) -> bool {
        self.attempt(plan, |plan| change(&mut script_mut(plan).0[user].opens))
    }

    /// Lowers the counts of milestones, so that steps which only add to the count can be removed.
    /// The fifth time from the beginning is the first time from some later step on.
    fn lower_milestones(&mut self, plan: &mut Plan) {
        // From the last on: a fault that is moved to a later time is then not tried again.
        for index in (0..plan.faults.len()).rev() {
            let Some(Milestone { count, .. }) = plan.faults[index].milestone else {
                continue;
            };
            let from = plan.faults[index].at;
            let mut moments = moments(plan);
            moments.retain(|moment| *moment > from);
            let later = moments.into_iter().rev().take(MOST_MOMENTS);
            let first_from = later.map(|at| (at, 1)).filter(|_| count > 1);
            let lower = (1..count).take(MOST_COUNTS).map(|count| (from, count));
            let lowered = lower.clone().take(1).chain(first_from).chain(lower.skip(1));
            self.attempt_first(plan, lowered, |plan, (at, count)| {
                let fault = &mut plan.faults[index];
                fault.at = at;
                if let Some(milestone) = &mut fault.milestone {
                    milestone.count = count;
                }
                plan.faults.sort_by_key(|fault| fault.at);
            });
        }
    }

    /// Removes victims of faults, and the rooms of operators' acts, which then name one of the user;
    /// else the room with the lowest number.
    fn remove_victims(&mut self, plan: &mut Plan) {
        for index in 0..plan.faults.len() {
            let room = act_mut(plan, index).and_then(|act| act.room);
            let lower = (1..room.unwrap_or(0)).take(MOST_COUNTS).map(Some);
            let rooms = room.map(|_| None).into_iter().chain(lower);
            self.attempt_first(plan, rooms, |plan, room| {
                if let Some(act) = act_mut(plan, index) {
                    act.room = room;
                }
            });
            let mut victim = 0;
            while let Some(those) = victims_mut(plan, index)
                && those.len() > 1
                && victim < those.len()
            {
                let removed = self.attempt(plan, |plan| {
                    if let Some(those) = victims_mut(plan, index) {
                        those.remove(victim);
                    }
                });
                victim += usize::from(!removed);
            }
        }
    }
}

fn act_mut(plan: &mut Plan, fault: usize) -> Option<&mut OperatorAct> {
    let FaultKind::Operator(act) = &mut plan.faults.get_mut(fault)?.kind else {
        return None;
    };
    Some(act)
}

fn victims_mut(plan: &mut Plan, fault: usize) -> Option<&mut Vec<u32>> {
    match plan.faults.get_mut(fault)?.kind.victims_mut()? {
        Victims::Users(those) => Some(those),
        Victims::Share(_) => None,
    }
}

/// A lowered value of a limit; none if it is no limit, or not higher. The default may be any number
/// or "none". A rate is lowered by its burst.
fn lowered_to(lower: u64, now: &Json, usual: &Json) -> Option<Json> {
    if let Some(burst) = now.get("burst").and_then(Json::as_u64) {
        let mut bucket = now.clone();
        bucket["burst"] = Json::from(lower);
        return (burst > lower).then_some(bucket);
    }
    let number = usual.is_u64() || usual.as_str() == Some("none");
    let lower_now = now.as_u64().is_some_and(|now| now <= lower);
    (number && !lower_now).then(|| Json::from(lower))
}

/// Sets one key, if the configuration accepts it.
pub(super) fn set(config: &mut Config, key: &str, value: Json) {
    if let Ok(changed) = with_entry(config, key, value) {
        *config = changed;
    }
}

//! Branches: a world that is copied at a step, and continues with new randomness.
//!
//! All generators of a world are keyed by one number, its key. A turn of a recipe derives a new key
//! from the old one, the step and the branch's number, and rekeys all of them: the network, the
//! clients' choices and thinking times, service and commit times, the victims of faults, the race
//! schedule, and the personas of later users. An additional mishap may follow (`mishaps`). The
//! Hub's own randomness, which belongs to the core, and the swaps of the Hub, which must change
//! nothing, keep their generators.

use chat_types::mix;

use super::World;
use super::observers::SharedObserver;
use sim_model::draw::{Actor, Draw, DrawAt};
use sim_model::recipe::{Recipe, Turn};
use sim_user::arrivals::recast;

/// The key of a world's generators, and the turns that change it.
#[derive(Clone, Debug)]
pub(super) struct RandomKey {
    /// The seed of generators that are created from here on.
    pub(super) key: u64,
    /// The turns taken, followed by those to be taken.
    pub(super) recipe: Recipe,
    taken: usize,
    /// The step after which the next turn is taken.
    next: u64,
}

impl RandomKey {
    pub(super) fn new(seed: u64, recipe: &Recipe) -> Self {
        let mut chance = Self {
            key: seed,
            recipe: recipe.clone(),
            taken: 0,
            next: u64::MAX,
        };
        chance.look_ahead();
        chance
    }

    fn look_ahead(&mut self) {
        let turn = self.recipe.turns().get(self.taken);
        self.next = turn.map_or(u64::MAX, |turn| turn.step);
    }
}

impl<'o> World<'_, 'o> {
    /// Rekeys all generators if the recipe has a turn after this step.
    pub(super) fn take_turn(&mut self) {
        if self.steps < self.random_key.next {
            return;
        }
        let random = &mut self.random_key;
        if let Some(Turn { step, branch }) = random.recipe.turns().get(random.taken) {
            random.key = mix(mix(random.key, *step), u64::from(*branch));
            random.taken += 1;
            random.look_ahead();
        }
        let key = random.key;
        let draw = |actor| Draw::new(key, actor);
        self.server.draw = draw(Actor::Server);
        if let Some(cluster) = &mut self.server.cluster {
            cluster.draw = DrawAt::new(draw(Actor::Cluster));
        }
        self.active_faults.draw = draw(Actor::Faults);
        self.network.rekey(draw);
        for (agent, client) in (0..).zip(&mut self.clients) {
            client.user.rekey(key);
            if let Some(waker) = &mut client.waker {
                waker.rekey(draw(Actor::Waker(agent)));
            }
        }
        let later = self.arrivals.as_mut_slice();
        recast(&self.plan.workload, later, &mut draw(Actor::Arrivals));
        self.draw_mishap(&mut draw(Actor::Mishap));
    }

    /// A copy of the world with new randomness from here on. Branch 0 continues like the original.
    /// `observer` observes the copy.
    pub(super) fn branch(&self, branch: u32, observer: SharedObserver<'o>) -> Self {
        let mut copy = self.clone();
        copy.observers.observer = Some(observer);
        if branch > 0 {
            let step = self.steps;
            let taken = copy.random_key.recipe.first(copy.random_key.taken);
            copy.random_key.recipe = taken.then(Turn { step, branch });
            copy.random_key.look_ahead();
            copy.take_turn();
        }
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::judged::{begin, finish, run, watched};
    use crate::Split;
    use chat_types::Span;
    use sim_judge::RunJudge;
    use sim_model::history::{FaultRecord, RunEvent};
    use sim_model::plan::{Plan, Race, Schedule};
    use sim_scenario::parse;

    const CROWD: &str = "
name: crowd
duration: 6s
server: { reconnect_grace: 1s, stick_lease: 1s, idle_timeout: 4s }
phases: [{ duration: 2s, arrival_count: 20 }]
scenarios:
  - name: pair
    habits: { abandon: 1/5, forget_handle: 1/20 }
    flow: [enter_queue, { await: { event: chatroom.found, within: 5s } },
           { loop: { count: 6, steps: [{ send: { length: 40 } }, { think: { min: 0s, max: 200ms } }, check] } }]
  - name: speaker
    flow: [{ login: { room: hall } }, talking_stick, { await: { event: stick.granted, within: 20s } },
           { append: { length: 50 } }, push, leave_chat]
network: { latency: { p50: 10ms, p99: 80ms }, loss: 1/30, duplicate: 1/50, stream_break: 1/40 }
faults:
  - { at: 2s, crash: server, down_for: 300ms, lose_unsynced: true }
  - { at: 5s, partition: { share: 1/3, for: 700ms } }
";

    fn crowd() -> Plan {
        parse("crowd.yaml", CROWD).unwrap()
    }

    fn begun(plan: &Plan, seed: u64, steps: u64) -> Split<'_, RunJudge> {
        let mut judged = begin(plan, seed);
        while judged.steps() < steps {
            judged.step();
        }
        judged
    }

    /// The hash of the whole run, and the findings of judges and metrics.
    fn to_the_end(mut judged: Split<'_, RunJudge>) -> (u64, String) {
        while judged.step() {}
        let outcome = finish(judged);
        (outcome.ran.trace_hash, format!("{outcome:?}"))
    }

    #[test]
    fn a_copy_continues_like_its_original() {
        let mut plan = crowd();
        let schedules = [Schedule::Plain, Schedule::Race(Race::default())];
        for (schedule, servers) in schedules.into_iter().flat_map(|one| [(one, 1), (one, 3)]) {
            plan.schedule = schedule;
            plan.servers = servers;
            for step in [0, 1, 700, 1_500] {
                let world = begun(&plan, 7, step);
                let copy = world.branch(0);
                assert_eq!(to_the_end(copy), to_the_end(world), "from step {step}");
            }
        }
    }

    #[test]
    fn branches_diverge_without_changing_their_original() {
        let plan = crowd();
        let world = begun(&plan, 7, 500);
        let hashes: Vec<u64> = (0..4)
            .map(|branch| to_the_end(world.branch(branch)).0)
            .collect();
        for (i, hash) in hashes.iter().enumerate() {
            assert!(!hashes[i + 1..].contains(hash), "{hashes:?}");
        }
        assert_eq!(to_the_end(world).0, hashes[0]);
    }

    #[test]
    fn a_recipe_replays_the_branch_that_it_names() {
        let mut plan = crowd();
        plan.schedule = Schedule::Race(Race::default());
        let mut first = begun(&plan, 9, 300).branch(2);
        while first.steps() < 900 {
            first.step();
        }
        let second = first.branch(1);
        let recipe = second.recipe().clone();
        assert_eq!(recipe.to_string(), "s300:2,s900:1");
        let (hash, said) = to_the_end(second);
        plan.recipe = recipe;
        let again = run(&plan, 9);
        assert_eq!((again.ran.trace_hash, format!("{again:?}")), (hash, said));
        plan.recipe = "s300:2,s900:2".parse().unwrap();
        assert_ne!(run(&plan, 9).ran.trace_hash, hash);
    }

    #[test]
    fn a_turn_after_the_end_of_a_run_changes_nothing() {
        let mut plan = crowd();
        let plain = run(&plan, 3).ran.trace_hash;
        plan.recipe = "s99999999:1".parse().unwrap();
        assert_eq!(run(&plan, 3).ran.trace_hash, plain);
    }

    /// The plan has no faults, so all that go wrong are mishaps after turns.
    #[test]
    fn a_mishap_may_follow_a_turn() {
        let mut plan = crowd();
        plan.faults.clear();
        let mut of = |recipe: &str| {
            plan.recipe = recipe.parse().unwrap();
            let mut mishaps = Vec::new();
            let outcome = watched(&plan, 7, |event| {
                if let RunEvent::Fault(_, FaultRecord::Mishap(fault)) = event {
                    assert!(fault.at < Span::secs(6), "{fault:?}");
                    mishaps.push(format!("{:?}", fault.kind));
                }
            });
            assert_eq!(outcome.violations, [], "{recipe}");
            mishaps
        };
        assert!(of("").is_empty());
        let drawn: Vec<_> = (1..60)
            .map(|branch| of(&format!("s500:{branch}")))
            .collect();
        let with = drawn.iter().filter(|one| !one.is_empty()).count();
        assert!((15..45).contains(&with), "{with}");
        let all = format!("{drawn:?}");
        for kind in "Kick Mute Ban Partition LoseReplies FailDisk".split(' ') {
            assert!(all.contains(kind), "{kind}");
        }
        // The journal was not kept, so the server cannot crash.
        assert!(!all.contains("Crash"));
        assert_eq!(of("s500:9"), of("s500:9"));
    }
}

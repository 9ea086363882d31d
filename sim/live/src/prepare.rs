//! Adapts a scenario to a live server: the parts that configure a simulated one are removed and
//! listed.

use std::collections::BTreeSet;
use std::sync::Arc;

use chat_types::{BreakKind, Config, Span};

use super::Options;
use super::probe::Capabilities;
use sim_model::draw::{Quantiles, Shape};
use sim_model::outcome::LiveResult;
use sim_model::plan::{
    Arrivals, Fault, Figure, Frequency, Metric, Net, Phase, Plan, Schedule, Step, Strikes,
    Threshold, Verb, Workload, single_steps, usual_capacity, usual_network,
};
use sim_model::protocol::OpKind;

/// The assumed largest latency of a packet, for judging. With the slack of every run, a stream or a
/// waiting check has about five seconds to deliver.
const LATENCY: Span = Span::millis(1_500);

/// The factor for arrivals, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RateScale(u32);

impl Default for RateScale {
    fn default() -> Self {
        Self(1_000)
    }
}

impl RateScale {
    /// The smallest and the largest factor.
    const BOUNDS: std::ops::RangeInclusive<u32> = 1..=100_000_000;

    /// A factor in thousandths.
    #[must_use]
    pub fn milli(milli: u32) -> Self {
        Self(milli.clamp(*Self::BOUNDS.start(), *Self::BOUNDS.end()))
    }

    /// The factor in thousandths.
    #[must_use]
    pub const fn as_milli(self) -> u32 {
        self.0
    }

    /// The factor as a number for reports.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 1_000.0
    }

    fn of(self, n: u64) -> u64 {
        let scaled = u128::from(n) * u128::from(self.0);
        u64::try_from(scaled.div_ceil(1_000)).unwrap_or(u64::MAX)
    }

    fn count(self, users: u32) -> u32 {
        u32::try_from(self.of(u64::from(users))).unwrap_or(u32::MAX)
    }
}

impl std::fmt::Display for RateScale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.as_f64())
    }
}

impl std::str::FromStr for RateScale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write a number from 0.001 to 100000, such as 2 or 0.5".to_owned();
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || fraction.len() > 3 {
            return Err(wrong());
        }
        let milli = format!("{whole}{fraction:0<3}").parse::<u32>();
        let milli = milli.map_err(|_| wrong())?;
        let within = Self::BOUNDS.contains(&milli);
        within.then_some(Self(milli)).ok_or_else(wrong)
    }
}

/// A scenario adapted to a server, and what was removed.
#[derive(Clone, Debug)]
pub struct Ready {
    pub(super) options: Options,
    /// The scenario as it runs.
    pub plan: Plan,
    /// The part of each run's result that is known before it.
    pub(super) live: LiveResult,
}

/// The faults that a plan requires and that a live run cannot have.
#[must_use]
pub fn needed_faults(plan: &Plan) -> Vec<&'static str> {
    let needed = plan.faults.iter().filter(|f| !f.is_optional);
    let needed = needed.filter(|fault| !is_of_clients(fault));
    let keys: BTreeSet<&'static str> = needed.map(|fault| fault.kind.row().key).collect();
    keys.into_iter().collect()
}

/// Whether the clients have it by themselves. A milestone is a fact of the simulated server.
fn is_of_clients(fault: &Fault) -> bool {
    fault.milestone.is_none() && fault.kind.row().strikes == Strikes::Clients
}

/// Adapts a plan to a server with these tools.
pub(super) fn prepare(plan: &Plan, options: &Options, tools: &Capabilities) -> Ready {
    let mut plan = plan.clone();
    let ignored = ignore(&mut plan);
    plan.server = options.server.clone();
    let (mut lacking, mut left_out) = (BTreeSet::new(), Vec::new());
    match &mut plan.workload {
        Workload::Phases { phases, personas } => {
            for phase in phases {
                scale_phase(phase, options.scale);
            }
            personas.retain(|persona| {
                let lacks = lacks(&persona.flow, tools);
                let is_left_out = !lacks.is_empty();
                left_out.extend(is_left_out.then(|| persona.name.clone()));
                lacking.extend(lacks);
                !is_left_out
            });
            plan.thresholds.retain(|threshold| {
                let of_these = |persona| left_out.contains(persona);
                !threshold.persona.as_ref().is_some_and(of_these)
            });
            for persona in &mut *personas {
                if let Frequency::Count(users) = &mut Arc::make_mut(persona).frequency {
                    *users = options.scale.count(*users);
                }
            }
            if !tools.has_streams() {
                lacking.insert("an event stream".to_owned());
                for persona in personas {
                    Arc::make_mut(persona).stream = false;
                }
            }
        }
        Workload::Steps { users, steps } => {
            for user in users {
                user.stream = user.stream.filter(|_| tools.has_streams());
                user.opens.clear();
            }
            for step in steps {
                step.net = Net::default();
                lacking.extend(lacks(std::slice::from_ref(&step.what), tools));
            }
        }
    }
    let is_unknown = tools.0.is_none();
    let remark = is_unknown.then(|| "the server does not say which tools it has".to_owned());
    let live = LiveResult {
        target: options.target.to_string(),
        protocol: options.protocol.name().to_owned(),
        rate_scale: options.scale.as_f64(),
        ignored,
        lacking: lacking.into_iter().collect(),
        left_out,
        remarks: remark.into_iter().collect(),
        ..LiveResult::default()
    };
    Ready {
        options: options.clone(),
        plan,
        live,
    }
}

/// Removes and lists the parts that a live server cannot have.
fn ignore(plan: &mut Plan) -> Vec<String> {
    let (usual, network) = (usual_capacity(), &plan.network);
    let of_network = network.loss.is_possible()
        || network.duplicate.is_possible()
        || network.latency != usual_network().latency;
    let (users, steps) = (plan.workload.users(), plan.workload.steps());
    let faults = plan.faults.iter().filter(|fault| !is_of_clients(fault));
    let faults: BTreeSet<&str> = faults.map(|fault| fault.kind.row().key).collect();
    let is_of_commits = |threshold: &Threshold| threshold.metric == Metric::CommitLatency;
    // Only the server's own records show who entered the queue before whom.
    let is_overtaken = |threshold: &Threshold| threshold.figure == Figure::Overtaken;
    let named = |names: &[(&str, bool)]| -> Vec<String> {
        let there = names.iter().filter(|(_, is_there)| *is_there);
        there.map(|(name, _)| (*name).to_owned()).collect()
    };
    let mut ignored = named(&[
        ("server", plan.server != Config::default()),
        ("capacity", plan.capacity != usual),
        ("network", of_network),
        ("schedule", plan.schedule != Schedule::Plain),
        ("opens", users.iter().any(|user| !user.opens.is_empty())),
        ("net", steps.iter().any(|step| step.net != Net::default())),
        ("reads: knocked", plan.workload.sleeps()),
        // Participants have other numbers on a live server.
        ("whom", steps.iter().any(|step| step.whom.is_some())),
        ("expect_sometimes", !plan.expect_sometimes.is_empty()),
    ]);
    ignored.extend(faults.iter().map(|fault| format!("the fault {fault}")));
    let thresholds = &plan.thresholds;
    ignored.extend(named(&[
        (
            "thresholds on commit_latency",
            thresholds.iter().any(is_of_commits),
        ),
        (
            "thresholds on overtaken",
            thresholds.iter().any(is_overtaken),
        ),
    ]));
    plan.workload.never_sleep();
    plan.capacity = usual;
    let stream_break = plan.network.stream_break;
    plan.network = usual_network();
    plan.network.stream_break = stream_break;
    plan.network.latency = Arc::new(Quantiles::new(Shape::Fixed(LATENCY.0)));
    plan.schedule = Schedule::Plain;
    plan.expect_sometimes.clear();
    plan.faults.retain(is_of_clients);
    plan.thresholds
        .retain(|one| !is_of_commits(one) && !is_overtaken(one));
    ignored
}

fn scale_phase(phase: &mut Phase, scale: RateScale) {
    match &mut phase.arrivals {
        Arrivals::Pause => {}
        Arrivals::Count { users, .. } => *users = scale.count(*users),
        Arrivals::Rate {
            from_milli,
            to_milli,
            ..
        } => {
            *from_milli = scale.of(*from_milli);
            *to_milli = scale.of(*to_milli);
        }
    }
    phase.max_users = phase.max_users.map(|most| scale.count(most));
}

/// The tools that these steps use and the server lacks.
fn lacks(steps: &[Step], tools: &Capabilities) -> BTreeSet<String> {
    let calls = single_steps(steps).into_iter().filter_map(Step::verb);
    let lacks = calls.flat_map(tools_of).filter(|tool| !tools.has(tool));
    lacks.map(str::to_owned).collect()
}

fn tools_of(verb: &Verb) -> Vec<&'static str> {
    let Verb::Break { kind, .. } = verb else {
        return vec![verb.kind().tool()];
    };
    let every = || BreakKind::ALL.iter().map(|kind| kind.name()).collect();
    let mut tools = kind.map_or_else(every, |kind| vec![kind.name()]);
    // By habit, a user that takes a break reads its stress level.
    tools.push(OpKind::Mood.tool());
    tools
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_model::plan::ArrivalMode;

    fn plan(text: &str) -> Plan {
        sim_scenario::parse("test.yaml", text).unwrap()
    }

    fn options(scale: &str) -> Options {
        Options {
            target: "http://127.0.0.1:1".parse().unwrap(),
            authorities: None,
            protocol: crate::Protocol::Http,
            scale: scale.parse().unwrap(),
            server: Config::default(),
            nemesis: None,
        }
    }

    const TWO: &str = "
name: two
duration: 10s
phases:
  - { name: a, duration: 2s, arrival_rate: 4, ramp_to: 8, max_users: 3 }
  - { name: b, duration: 1s, arrival_count: 5 }
scenarios:
  - { name: pen, flow: [enter_queue, { send: { length: 5 } }] }
  - { name: idler, count: 2, flow: [login, break] }
server: { stick_lease: 4s }
network: { loss: 1/10, stream_break: 1/9 }
faults:
  - { at: 1s, clock_jump: 2h, optional: true }
  - { at: 2s, crash: server, down_for: 1s }
  - { at: 3s, partition: { share: 1/2, for: 1s } }
expect_sometimes: [match]
thresholds:
  { commit_latency: [\"max<1s\"], queue_wait: [\"overtaken==0\"], stuck: [\"count==0\"] }
";

    #[test]
    fn keys_of_steps_that_need_the_simulator_are_listed() {
        let usual = "{ at: 1s, user: a, do: { login: { room: hall } } }";
        let ignored = |text: String| {
            let plan = plan(&text);
            prepare(&plan, &options("1"), &Capabilities::default())
                .live
                .ignored
        };
        assert!(ignored(format!("users: [a]\nsteps: [{usual}]\n")).is_empty());
        let all = format!(
            "users: [a, {{ name: b, opens: [{{ bare: true }}], keeps_handle: true }}]\n\
             steps: [{usual}, {{ at: 2s, user: a, do: report, whom: 2, net: {{ reply: lost }} }}]\n"
        );
        assert_eq!(ignored(all), ["opens", "net", "whom"]);
    }

    #[test]
    fn simulator_keys_are_removed_and_listed() {
        let plan = plan(TWO);
        assert_eq!(needed_faults(&plan), ["crash"]);
        let prepared = prepare(&plan, &options("1"), &Capabilities::default());
        let named = [
            "server",
            "network",
            "expect_sometimes",
            "the fault clock_jump",
            "the fault crash",
            "thresholds on commit_latency",
            "thresholds on overtaken",
        ];
        assert_eq!(prepared.live.ignored, named);
        assert_eq!(prepared.plan.server, Config::default());
        let plan = &prepared.plan;
        let faults: Vec<_> = plan.faults.iter().map(|one| one.kind.row().key).collect();
        assert_eq!(faults, ["partition"]);
        assert!(plan.network.stream_break.is_possible());
        assert!(plan.expect_sometimes.is_empty());
        assert_eq!(plan.thresholds.len(), 1);
        assert!(prepared.live.lacking.is_empty());
    }

    #[test]
    fn arrivals_are_scaled() {
        let prepared = prepare(&plan(TWO), &options("2.5"), &Capabilities::default());
        let Workload::Phases { phases, personas } = prepared.plan.workload else {
            panic!("it has phases")
        };
        assert_eq!(personas[1].frequency, Frequency::Count(5));
        assert!(matches!(
            phases[0].arrivals,
            Arrivals::Rate {
                from_milli: 10_000,
                to_milli: 20_000,
                ..
            }
        ));
        assert_eq!(phases[0].max_users, Some(8));
        let mode = ArrivalMode::Uniform;
        assert_eq!(phases[1].arrivals, Arrivals::Count { users: 13, mode });
        for wrong in ["", "0", "-1", "1e3", "0.0001", "2.", "100001"] {
            assert!(wrong.parse::<RateScale>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn personas_that_need_a_missing_tool_are_removed() {
        let there = ["enter_queue", "send_message", "check", "login", "/events"];
        let tools = Capabilities(Some(there.map(str::to_owned).into()));
        let prepared = prepare(&plan(TWO), &options("1"), &tools);
        let live = prepared.live;
        assert_eq!(live.left_out, ["idler"]);
        assert!(live.lacking.contains(&"chimaek".to_owned()));
        assert!(live.lacking.contains(&"check_stress_status".to_owned()));
    }
}

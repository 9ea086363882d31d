//! The first lines of a page: the scenario, its users and its network.

use unicode_width::UnicodeWidthStr as _;

use super::line::{Line, PAGE, Style, fit, flow, paragraph};
use super::numbers::{count, plural};
use super::{FinishedRun, View, live};
use sim_model::outcome::RunResult;
use sim_model::plan::{OwnerReads, Plan, Workload};

/// `burst · seed 42 · sim 0.1.0 (3f9c1ab)`
pub(super) fn title(run: &FinishedRun, view: &View<'_>) -> Line {
    let rest = format!(" · {} · sim {}", seeds(run.result()), view.version);
    Line::styled(Style::Strong, &name(run, rest.width())).text(&rest)
}

/// The scenario's name, cut so that `rest` columns are left.
pub(super) fn name(run: &FinishedRun, rest: usize) -> String {
    fit(&run.plan.name, PAGE.saturating_sub(rest).max(12))
}

/// `seed 42`, or `seeds 42–241`.
pub(super) fn seeds(result: &RunResult) -> String {
    if result.seeds == 1 {
        return format!("seed {}", result.seed);
    }
    format!("seeds {}", range(result))
}

/// `42–241`
pub(super) fn range(result: &RunResult) -> String {
    let last = result.seed.wrapping_add(result.seeds - 1);
    format!("{}–{last}", result.seed)
}

/// The scenario's purpose, its users, and its network.
pub(super) fn about(run: &FinishedRun) -> Vec<Line> {
    let mut lines = Vec::new();
    if !run.plan.about.trim().is_empty() {
        lines.extend(paragraph("", &run.plan.about, 0));
    }
    lines.extend(agents(run));
    if let Some(live) = &run.result().live {
        lines.extend(live::about(live));
        return lines;
    }
    let network = network(&run.plan);
    if !network.is_empty() {
        lines.extend(flow("", &network, " · ", 0));
    }
    lines
}

fn agents(run: &FinishedRun) -> Vec<Line> {
    let result = run.result();
    let mut who = plural(result.users, "agent");
    if result.seeds > 1 {
        who += &format!(" over {} seeds", count(result.seeds));
    }
    let names = personas(run).into_iter();
    let names = names.map(|(name, n)| format!("{n} {}", fit(&name, 40)).trim_start().to_owned());
    let names: Vec<String> = names.collect();
    if !names.is_empty() {
        // A line may end behind each of them.
        who += &format!(": {}", names.join(",\n"));
    }
    let mut world = Vec::new();
    if result.live.is_none() {
        who += " ·";
        world = server(&run.plan);
    }
    let items = who.split('\n').chain(world.iter().map(String::as_str));
    flow("", &items.collect::<Vec<_>>(), " ", 0)
}

/// The personas, each with its number of users; in the steps form the users.
pub(super) fn personas(run: &FinishedRun) -> Vec<(String, String)> {
    match &run.plan.workload {
        Workload::Phases { personas, .. } => personas
            .iter()
            .zip(&run.summary.by_persona)
            .map(|(persona, n)| (persona.name.clone(), count(*n)))
            .collect(),
        Workload::Steps { users, .. } => users
            .iter()
            .map(|user| (user.name.clone(), String::new()))
            .collect(),
    }
}

pub(super) fn server(plan: &Plan) -> Vec<String> {
    let mut words = Vec::new();
    if plan.servers > 1 {
        let reads = match plan.reads {
            OwnerReads::Lease => "reads under a lease,",
            OwnerReads::Strict => "strict reads,",
        };
        words.extend([format!("{} servers,", plan.servers), reads.to_owned()]);
    }
    words.extend([
        format!("{},", plan.server.matching),
        format!("grace {},", plan.server.reconnect_grace),
        format!("lease {}", plan.server.stick_lease),
    ]);
    words
}

pub(super) fn network(plan: &Plan) -> Vec<String> {
    let network = &plan.network;
    [
        ("loss", network.loss),
        ("duplicate", network.duplicate),
        ("stream break", network.stream_break),
    ]
    .into_iter()
    .filter(|(_, ratio)| ratio.is_possible())
    .map(|(name, ratio)| format!("{name} {ratio}"))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::samples::passed;

    #[test]
    fn several_servers_are_named_with_their_reads() {
        let mut plan = passed().plan.clone();
        assert_eq!(server(&plan).join(" "), "fifo, grace 5s, lease 4s");
        (plan.servers, plan.reads) = (3, OwnerReads::Strict);
        assert_eq!(
            server(&plan).join(" "),
            "3 servers, strict reads, fifo, grace 5s, lease 4s"
        );
    }
}

//! A race from a live server to a desk: plants a race in the server and in the simulator, loads the
//! server, replays its journal, and requires that the scenario of its last calls fails by the same
//! property, and by none without the bug.

use std::io::Write;

use anyhow::{Context as _, Result};
use serde_json::Value;
use xshell::Shell;

use super::hunt::{Effort, sim_json};
use super::mutant::{self, Mutant};
use crate::live::SCENARIO;
use crate::server::{FOR_ONE_ADDRESS, Server};
use crate::workspace_copy::WorkspaceCopy;

/// The race: a push that arrives after its lease has expired is accepted.
const MUTANT: &str = "speech_stale_push_accepted";

/// The number of calls of the scenario that is made of the journal.
const LAST: &str = "40";

/// Leases are so short that many pushes meet their end.
const SHORT_LEASES: [&str; 2] = ["--limit", "stick_lease=100ms"];

/// The simulator runs a seed at a time.
const ONCE: Effort = Effort {
    seeds: 1,
    jobs: None,
};

/// Plants the race, and follows it from the load to the scenario. Returns whether all failed and
/// passed as they should.
///
/// # Errors
/// Why the run could not be done.
pub(crate) fn run(sh: &Shell, out: &mut impl Write) -> Result<bool> {
    let all = mutant::read_all(sh)?;
    let mutant = all.iter().find(|mutant| mutant.name == MUTANT);
    let mutant = mutant.with_context(|| format!("there is no mutant {MUTANT}"))?;
    let copy = WorkspaceCopy::refresh(sh)?;
    let followed = follow(&copy, mutant, out);
    mutant.heal(&copy)?;
    let scenario = match followed? {
        Ok(scenario) => scenario,
        Err(why) => {
            writeln!(out, "FAIL: {why}")?;
            return Ok(false);
        }
    };
    copy.build(&[])?;
    let found = sim_json(&copy, &[&scenario], ONCE)?;
    let is_sound = found["violations"] == Value::Array(Vec::new());
    match is_sound {
        true => writeln!(
            out,
            "PASS: the race of a live server fails as a scenario, and only with the bug"
        )?,
        false => writeln!(out, "FAIL: without the bug, {scenario} fails, too")?,
    }
    Ok(is_sound)
}

/// Returns the path of the scenario, or what went otherwise than it should.
///
/// # Errors
/// Why it could not be done.
fn follow(
    copy: &WorkspaceCopy,
    mutant: &Mutant,
    out: &mut impl Write,
) -> Result<std::result::Result<String, &'static str>> {
    mutant.plant(copy)?;
    copy.build(&["server"])?;
    let folder = copy.root().with_file_name("race");
    copy.sh().remove_path(&folder)?;
    copy.sh().create_dir(&folder)?;
    let [data, scenario] = ["data", "race.yaml"].map(|name| folder.join(name));
    let (program, scenario) = (
        copy.program("talking-stick"),
        scenario.to_string_lossy().into_owned(),
    );
    let limits = [&FOR_ONE_ADDRESS[..], &SHORT_LEASES].concat();
    let server = Server::with_journal(&program, &data, &limits)?;
    let (data, program) = (data.to_string_lossy(), program.to_string_lossy());
    let live = [
        SCENARIO,
        "--target",
        server.url(),
        "--journal",
        &data,
        "--server",
        &program,
    ];
    let found = sim_json(copy, &live, ONCE)?;
    writeln!(out, "live      {}", told(&found["violations"][0]))?;
    drop(server);
    let replay = ["replay", &data, "--server", &program];
    let found = sim_json(copy, &replay, ONCE)?;
    let violation = &found["violation"];
    let is_wanted = |found: &Value| {
        let property = found["property"].as_str().unwrap_or_default();
        mutant.caught_by.iter().any(|wanted| wanted == property)
    };
    writeln!(out, "replay    {}", told(violation))?;
    if !is_wanted(violation) {
        return Ok(Err("the replay of the journal does not accuse it"));
    }
    let position = violation["position"].to_string();
    let to = [
        "--until",
        &position,
        "--last",
        LAST,
        "--to-scenario",
        &scenario,
    ];
    sim_json(copy, &[&replay[..], &to].concat(), ONCE)?;
    let found = sim_json(copy, &[&scenario], ONCE)?;
    let violation = &found["violations"][0];
    writeln!(out, "scenario  {}", told(violation))?;
    if !is_wanted(violation) {
        return Ok(Err("the scenario does not fail by the same property"));
    }
    Ok(Ok(scenario))
}

fn told(violation: &Value) -> String {
    let property = violation["property"]
        .as_str()
        .unwrap_or("nothing is violated");
    let detail = violation["detail"].as_str().unwrap_or_default();
    let place = match violation["position"].as_u64() {
        Some(position) => format!(" at position {position}"),
        None => String::new(),
    };
    format!("{property}{place}: {detail}")
}

//! A race from a live server to a desk: plants a race in the server and in the simulator, loads the
//! server, replays its journal, and requires that the scenario of its last calls fails by the same
//! property, and by none without the bug.

use std::io::Write;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use xshell::Shell;

use super::hunt::sim_json;
use super::mutant::{self, Mutant};
use super::verdict::choose;
use crate::live::SCENARIO;
use crate::server::{FOR_ONE_ADDRESS, Server};
use crate::workspace_copy::WorkspaceCopy;

/// The race: a push that arrives after its lease has expired is accepted.
const MUTANT: &str = "speech_stale_push_accepted";

/// The number of calls of the scenario that is made of the journal.
const LAST: &str = "40";

/// Leases are so short that many pushes meet their end.
const SHORT_LEASES: [&str; 2] = ["--limit", "stick_lease=100ms"];

/// Plants the race, and follows it from the load to the scenario. Returns whether the scenario passes
/// without the race.
///
/// # Errors
/// Why the run could not be done, or what did not fail as it should.
pub(crate) fn run(sh: &Shell, out: &mut impl Write) -> Result<bool> {
    let all = mutant::read_all(sh)?;
    let mutant = choose(&all, &[MUTANT.to_owned()])?[0];
    let copy = WorkspaceCopy::refresh(sh)?;
    let followed = follow(&copy, mutant, out);
    copy.heal()?;
    let scenario = followed?;
    copy.build(&[])?;
    let found = sim_json(&copy, &[&scenario])?;
    let is_sound = found["violations"] == json!([]);
    match is_sound {
        true => writeln!(
            out,
            "PASS: the race of a live server fails as a scenario, and only with the bug"
        )?,
        false => writeln!(out, "FAIL: without the bug, {scenario} fails, too")?,
    }
    Ok(is_sound)
}

/// Returns the path of the scenario.
///
/// # Errors
/// Why it could not be done, or what did not fail as it should.
fn follow(copy: &WorkspaceCopy, mutant: &Mutant, out: &mut impl Write) -> Result<String> {
    mutant.plant(copy)?;
    copy.build(&["server"])?;
    let folder = copy.sh.current_dir().with_file_name("race");
    copy.sh.remove_path(&folder)?;
    copy.sh.create_dir(&folder)?;
    let [data, scenario] = ["data", "race.yaml"].map(|name| folder.join(name));
    let (program, scenario) = (
        copy.program("talking-stick"),
        scenario.to_string_lossy().into_owned(),
    );
    let (data, name) = (data.to_string_lossy(), program.to_string_lossy());
    let words = [&["--data", &data][..], &FOR_ONE_ADDRESS, &SHORT_LEASES];
    let server = Server::start(&program, &words.concat())?;
    let by_server = ["--server", &name];
    let live = [SCENARIO, "--target", &server.url, "--journal", &data];
    let found = sim_json(copy, &[&live[..], &by_server].concat())?;
    writeln!(out, "live      {}", told(&found["violations"][0]))?;
    drop(server);
    let mut is_accused = |by: &str, violation: &Value| {
        writeln!(out, "{by:<9} {}", told(violation))?;
        let property = violation["property"].as_str().unwrap_or_default();
        let is_wanted = mutant.names(property);
        let wanted = mutant.caught_by.join(" or ");
        ensure!(is_wanted, "the {by} does not fail by {wanted}");
        Ok(())
    };
    let replay = [&["replay", &data][..], &by_server].concat();
    let found = sim_json(copy, &replay)?;
    is_accused("replay", &found["violation"])?;
    let position = found["violation"]["position"].to_string();
    let to = ["--last", LAST, "--to-scenario", &scenario];
    sim_json(copy, &[&replay[..], &["--until", &position], &to].concat())?;
    let found = sim_json(copy, &[&scenario])?;
    is_accused("scenario", &found["violations"][0])?;
    Ok(scenario)
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

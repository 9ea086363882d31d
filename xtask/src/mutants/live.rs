//! A race from a live server to a desk: plants a race in the server and in the simulator, loads the
//! server, replays its journal, and requires that the scenario of its last calls fails by the same
//! property, and by none without the bug.

use std::fs;
use std::io::Write;
use std::path::Path;

use serde_json::Value;

use super::hunt::{self, Effort};
use super::mutant::{self, Mutant};
use crate::cargo::Cargo;
use crate::server::{FOR_ONE_ADDRESS, Server};
use crate::workspace_copy::WorkspaceCopy;

/// The race: a push that arrives after its lease has expired is accepted.
const MUTANT: &str = "speech_stale_push_accepted";

/// The load: guests pass a talking stick at tables.
const SCENARIO: &str = "scenarios/brief.yaml";

/// The number of calls of the scenario that is made of the journal.
const LAST: &str = "40";

/// Leases are so short that many pushes meet their end.
const SHORT_LEASES: [&str; 2] = ["--limit", "stick_lease=100ms"];

/// Plants the race, and follows it from the load to the scenario. Returns whether all failed and
/// passed as they should.
///
/// # Errors
/// Why the run could not be done.
pub(crate) fn run(cargo: &Cargo, out: &mut impl Write) -> Result<bool, String> {
    let all = mutant::read_all(cargo.root())?;
    let mutant = all.iter().find(|mutant| mutant.name == MUTANT);
    let mutant = mutant.ok_or_else(|| format!("there is no mutant {MUTANT}"))?;
    let copy = WorkspaceCopy::refresh(cargo)?;
    let followed = follow(&copy, mutant, out);
    mutant.heal(&copy)?;
    let scenario = match followed? {
        Ok(scenario) => scenario,
        Err(why) => return verdict(out, Some(why)),
    };
    copy.build()?;
    let found = result_of(&copy, &[&scenario])?;
    let sound = found["violations"] == Value::Array(Vec::new());
    let wrong = (!sound).then(|| format!("without the bug, {scenario} fails, too"));
    verdict(out, wrong)
}

fn verdict(out: &mut impl Write, wrong: Option<String>) -> Result<bool, String> {
    let line = match &wrong {
        None => "PASS: the race of a live server fails as a scenario, and only with the bug".into(),
        Some(why) => format!("FAIL: {why}"),
    };
    writeln!(out, "{line}").map_err(|error| error.to_string())?;
    Ok(wrong.is_none())
}

/// Returns the path of the scenario, or what went otherwise than it should.
///
/// # Errors
/// Why it could not be done.
fn follow(
    copy: &WorkspaceCopy<'_>,
    mutant: &Mutant,
    out: &mut impl Write,
) -> Result<Result<String, String>, String> {
    mutant.plant(copy)?;
    copy.build_with(&["server"])?;
    let folder = copy.root().with_file_name("race");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let [data, scenario] = ["data", "race.yaml"].map(|name| path(&folder.join(name)));
    let program = copy.program("talking-stick");
    let limits = [&FOR_ONE_ADDRESS[..], &SHORT_LEASES].concat();
    let words = {
        let server = Server::with_journal(&program, Path::new(&data), &limits)?;
        let program = path(&program);
        let live = ["--target", server.url(), "--journal", &data];
        let words = [&[SCENARIO], &live[..], &["--server", &program]].concat();
        let found = result_of(copy, &words)?;
        writeln!(out, "live      {}", told(&found["violations"][0]))
            .map_err(|error| error.to_string())?;
        ["replay", &data, "--server", &program].map(str::to_owned)
    };
    let replay: Vec<&str> = words.iter().map(String::as_str).collect();
    let found = result_of(copy, &replay)?;
    let violation = &found["violation"];
    let position = violation["position"].to_string();
    let mut say = |what: &str, found: &Value| {
        writeln!(out, "{what:<9} {}", told(found)).map_err(|error| error.to_string())
    };
    say("replay", violation)?;
    let is_wanted = |found: &Value| {
        let property = found["property"].as_str().unwrap_or_default();
        mutant.caught_by.iter().any(|wanted| wanted == property)
    };
    if !is_wanted(violation) {
        return Ok(Err("the replay of the journal does not accuse it".into()));
    }
    let to = [
        "--until",
        &position,
        "--last",
        LAST,
        "--to-scenario",
        &scenario,
    ];
    result_of(copy, &[&replay, &to[..]].concat())?;
    let found = result_of(copy, &[&scenario])?;
    let violation = &found["violations"][0];
    say("scenario", violation)?;
    if !is_wanted(violation) {
        return Ok(Err("the scenario does not fail by the same property".into()));
    }
    Ok(Ok(scenario))
}

/// Runs the copy's simulator, and parses the result that it writes.
fn result_of(copy: &WorkspaceCopy<'_>, words: &[&str]) -> Result<Value, String> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let effort = Effort {
        seeds: 1,
        jobs: None,
    };
    hunt::sim_json(copy, &words, effort)
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

fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

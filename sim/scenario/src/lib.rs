//! Parses a scenario's YAML into a checked plan.
//!
//! Text becomes nodes with their places (`yaml`, `node`); nodes become the plan, part by part
//! (`server`, `workload`, `flow`, `script`, `fault`, `threshold`). Every error becomes a
//! [`ScenarioError`], with the place and the accepted values. `schema` describes the same format
//! for editors.

mod closest;
mod ends;
mod error;
mod fault;
mod fields;
mod flow;
mod forms;
mod node;
mod possible;
mod schema;
mod script;
mod server;
mod surroundings;
mod tables;
mod threshold;
mod workload;
mod write;
mod written;
mod yaml;

use std::io::Read as _;
use std::path::Path;

use chat_types::{Config, Span};

pub use error::{Look, ScenarioError};
pub use schema::schema;
pub use write::{annotated, to_yaml};

use ends::End;
use error::{Problem, Read};
use fields::Fields;
use forms::{name, ratio, some_time, text, whole};
use node::{Node, Place, Value};
use script::Users;
use sim_model::draw::Ratio;
use sim_model::names::PROPERTIES;
use sim_model::plan::{Fault, Plan, Schedule, Workload};
use sim_model::recipe::Recipe;
use tables::Tables;

/// The keys of a scenario.
const KEYS: [&str; 20] = [
    "name",
    "about",
    "seed",
    "duration",
    "liveness",
    "server",
    "capacity",
    "client",
    "phases",
    "scenarios",
    "users",
    "steps",
    "network",
    "schedule",
    "recipe",
    "faults",
    "properties",
    "expect_sometimes",
    "thresholds",
    "allow_stuck",
];
/// The longest `about`, in characters.
const MAX_ABOUT: usize = 2_000;
/// The default of `liveness`.
const USUAL_LIVENESS: Span = Span::secs(60);

/// Reads a scenario file.
///
/// # Errors
/// The file cannot be read, or is not a valid scenario.
pub fn load(path: &Path) -> Result<Plan, ScenarioError> {
    let file = path.display().to_string();
    let unreadable = |error: std::io::Error| {
        ScenarioError::of_file(
            &file,
            format!("{file} cannot be read: {error}"),
            "a scenario as a YAML file",
        )
    };
    let mut bytes = Vec::new();
    let most = u64::try_from(yaml::MAX_BYTES).unwrap_or(u64::MAX) + 1;
    std::fs::File::open(path)
        .and_then(|file| file.take(most).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    parse_bytes(&file, &bytes)
}

/// Reads a scenario from bytes that should be UTF-8; errors name `file_name`.
///
/// # Errors
/// The text is not a valid scenario.
pub fn parse_bytes(file_name: &str, bytes: &[u8]) -> Result<Plan, ScenarioError> {
    refuse_large(file_name, bytes.len())?;
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(file_name, text),
        Err(error) => {
            let byte = bytes.get(error.valid_up_to()).copied().unwrap_or(0);
            let place = Place {
                start: error.valid_up_to(),
                length: 1,
            };
            Err(Problem::new(
                place,
                format!("the byte 0x{byte:02x} is not UTF-8"),
                "a file in UTF-8",
            )
            .within(file_name, &String::from_utf8_lossy(bytes)))
        }
    }
}

/// Reads a scenario from text. Errors name `file_name`, whose stem is the default name of the
/// scenario.
///
/// # Errors
/// The text is not a valid scenario.
pub fn parse(file_name: &str, text: &str) -> Result<Plan, ScenarioError> {
    refuse_large(file_name, text.len())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let stem = Path::new(file_name).file_stem();
    let stem = stem.map_or_else(|| file_name.into(), std::ffi::OsStr::to_string_lossy);
    yaml::read(text)
        .and_then(|node| plan(&node, &stem))
        .map_err(|problem| problem.within(file_name, text))
}

fn refuse_large(file_name: &str, bytes: usize) -> Result<(), ScenarioError> {
    if bytes <= yaml::MAX_BYTES {
        return Ok(());
    }
    Err(ScenarioError::of_file(
        file_name,
        "the file is larger than a scenario may be",
        format!("at most {} bytes (1 MiB)", yaml::MAX_BYTES),
    ))
}

fn plan(node: &Node, stem: &str) -> Read<Plan> {
    if matches!(node.value, Value::Empty) {
        return Err(Problem::new(
            node.place,
            "the file is empty",
            format!("a map with keys among: {}", KEYS.join(", ")),
        ));
    }
    let fields = Fields::read(node, "a scenario", &KEYS)?;
    let mut tables = Tables::default();
    let server = fields
        .get("server")
        .map_or_else(|| Ok(Config::default()), server::server)?;
    let (workload, mut ends) = workload(&fields, &server, &mut tables)?;
    let (faults, fault_ends) = faults(&fields, &workload, &server)?;
    ends.extend(fault_ends);
    let duration = ends::duration(fields.get("duration"), &ends)?;
    Ok(Plan {
        name: fields
            .get("name")
            .map_or_else(|| Ok(stem.into()), |node| name(node, "a name"))?
            .to_string(),
        about: fields.get("about").map_or(Ok(String::new()), about)?,
        seed: fields
            .get("seed")
            .map_or(Ok(1), |node| whole(node, 0..=u64::MAX))?,
        duration,
        liveness: fields
            .get("liveness")
            .map_or(Ok(USUAL_LIVENESS), some_time)?,
        capacity: surroundings::capacity(fields.get("capacity"), &mut tables)?,
        client: surroundings::client(fields.get("client"))?,
        network: surroundings::network(fields.get("network"), &mut tables)?,
        schedule: fields
            .get("schedule")
            .map_or(Ok(Schedule::Plain), surroundings::schedule)?,
        recipe: fields
            .get("recipe")
            .map_or(Ok(Recipe::default()), surroundings::recipe)?,
        server,
        workload,
        faults,
        properties: fields
            .get("properties")
            .map_or_else(|| Ok(PROPERTIES.to_vec()), threshold::properties)?,
        expect_sometimes: fields
            .get("expect_sometimes")
            .map_or(Ok(Vec::new()), threshold::expect_sometimes)?,
        thresholds: fields
            .get("thresholds")
            .map_or(Ok(Vec::new()), threshold::thresholds)?,
        allow_stuck: fields.get("allow_stuck").map_or(Ok(Ratio::NEVER), ratio)?,
    })
}

fn about(node: &Node) -> Read<String> {
    let about = text(node, "a text")?;
    if about.chars().count() > MAX_ABOUT {
        return Err(Problem::new(
            node.place,
            "`about` is too long",
            format!("at most {MAX_ABOUT} characters"),
        ));
    }
    Ok(about.trim().to_owned())
}

/// The workload, and the place and end of each of its parts.
fn workload(
    fields: &Fields<'_>,
    server: &Config,
    tables: &mut Tables,
) -> Read<(Workload, Vec<End>)> {
    let script = fields.get("steps").or(fields.get("users")).is_some();
    if script {
        fields.refuse(
            &["phases", "scenarios"],
            "a scenario has either phases and scenarios, or users and steps",
        )?;
        let users = script::users(fields.need("users", "users: [a, b]")?)?;
        let node = fields.need("steps", "steps: [{ at: 0s, user: a, do: enter_queue }]")?;
        let (steps, ends) = script::steps(node, Users(&users), server, tables)?;
        return Ok((Workload::Steps { users, steps }, ends));
    }
    if fields.get("phases").or(fields.get("scenarios")).is_none() {
        return Err(Problem::new(
            fields.place,
            "nobody comes: there are neither phases nor steps",
            format!(
                "`phases` and `scenarios`, or `users` and `steps`; {}",
                fields.keys()
            ),
        ));
    }
    let node = fields.need("phases", "phases: [{ duration: 10s, arrival_rate: 20 }]")?;
    let (phases, ends) = workload::phases(node)?;
    let node = fields.need("scenarios", "scenarios: [{ name: penpal, flow: […] }]")?;
    let personas = workload::personas(node, server, tables)?;
    Ok((Workload::Phases { phases, personas }, ends))
}

fn faults(
    fields: &Fields<'_>,
    workload: &Workload,
    server: &Config,
) -> Read<(Vec<Fault>, Vec<End>)> {
    let users = match workload {
        Workload::Phases { .. } => Users::default(),
        Workload::Steps { users, .. } => Users(users),
    };
    fields.get("faults").map_or_else(
        || Ok((Vec::new(), Vec::new())),
        |node| fault::faults(node, users, server),
    )
}

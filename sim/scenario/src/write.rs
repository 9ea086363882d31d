//! Writes a plan as a scenario file, so that a drawn or shrunk plan can be run, read and kept.
//! Defaults are omitted.

mod steps;

use sim_model::outcome::Notes;
use std::fmt::{self, Write as _};

use chat_types::{Config, Span};
use serde_json::Value as Json;

use super::script::ARGUMENTS;
use super::workload::{MODES, NAMINGS, READS};
use sim_model::draw::{Quantiles, Ratio, Shape};
use sim_model::names::PROPERTIES;
use sim_model::plan::{
    ArrivalMode, Arrivals, Capacity, Client, Delivery, Fault, FaultKind, Habits, Naming, Need, Net,
    Network, OperatorAct, Outage, Persona, Phase, Plan, Race, Reads, Schedule, ScriptStep,
    ScriptUser, Threshold, USUAL_CLIENT, Victims, Workload, usual_capacity, usual_network,
};
use sim_model::protocol::ReadBy;

use steps::flow_step;

/// The columns of a comment line.
const COLUMNS: usize = 98;

/// The plan as a scenario: parsing it gives the same plan.
#[must_use]
pub fn to_yaml(plan: &Plan) -> String {
    annotated(plan, &Notes::default())
}

/// The plan as a scenario, with these comments.
#[must_use]
pub fn annotated(plan: &Plan, notes: &Notes) -> String {
    Annotated(notes).to_yaml(plan)
}

/// A writer of a scenario with comments.
struct Annotated<'n>(&'n Notes);

impl Annotated<'_> {
    fn to_yaml(&self, plan: &Plan) -> String {
        let mut file = String::new();
        for sentence in &self.0.head {
            comment(&mut file, sentence);
        }
        line(&mut file, format_args!("name: {}", quoted(&plan.name)));
        if !plan.about.is_empty() {
            line(&mut file, format_args!("about: {}", quoted(&plan.about)));
        }
        line(&mut file, format_args!("seed: {}", plan.seed));
        line(&mut file, format_args!("duration: {}", plan.duration));
        line(&mut file, format_args!("liveness: {}", plan.liveness));
        server(&mut file, &plan.server);
        capacity(&mut file, &plan.capacity);
        client(&mut file, &plan.client);
        network(&mut file, &plan.network);
        schedule(&mut file, plan.schedule);
        if !plan.recipe.is_plain() {
            line(&mut file, format_args!("recipe: \"{}\"", plan.recipe));
        }
        let users = self.workload(&mut file, &plan.workload);
        let faults: Vec<String> = plan
            .faults
            .iter()
            .map(|f| fault(f, users, &plan.server))
            .collect();
        list(&mut file, "faults", &faults, &self.0.faults);
        verdict(&mut file, plan);
        file
    }

    /// Writes the workload; returns the users with names.
    fn workload<'p>(&self, file: &mut String, workload: &'p Workload) -> &'p [ScriptUser] {
        match workload {
            Workload::Phases { phases, personas } => {
                let phases: Vec<String> = phases.iter().map(phase).collect();
                list(file, "phases", &phases, &[]);
                line(file, format_args!("scenarios:"));
                for each in personas {
                    persona(file, each);
                }
                &[]
            }
            Workload::Steps { users, steps } => {
                let names: Vec<String> = users.iter().map(user).collect();
                line(file, format_args!("users: [{}]", names.join(", ")));
                let steps: Vec<String> = steps.iter().map(|s| script_step(s, users)).collect();
                list(file, "steps", &steps, &self.0.steps);
                users
            }
        }
    }
}

fn line(file: &mut String, text: fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(file, "{text}");
}

/// A sentence as lines of comment.
fn comment(file: &mut String, sentence: &str) {
    let mut width = 0;
    for word in sentence.split_whitespace() {
        if width == 0 || width + 1 + word.len() > COLUMNS {
            file.push_str(if width == 0 { "#" } else { "\n#" });
            width = 1;
        }
        file.push(' ');
        file.push_str(word);
        width += 1 + word.len();
    }
    if width > 0 {
        file.push('\n');
    }
}

/// A list with one item per line, and notes in a column beside it.
fn list(file: &mut String, key: &str, items: &[String], notes: &[String]) {
    if items.is_empty() {
        return;
    }
    line(file, format_args!("{key}:"));
    let column = items.iter().map(String::len).filter(|len| *len <= 80).max();
    let column = column.unwrap_or(0);
    for (index, item) in items.iter().enumerate() {
        match notes.get(index).filter(|note| !note.is_empty()) {
            Some(note) => line(file, format_args!("  - {item:column$}  # {note}")),
            None => line(file, format_args!("  - {item}")),
        }
    }
}

/// A text, in double quotes if necessary: JSON's quoting is valid YAML.
fn quoted(text: &str) -> String {
    let plain = text
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && !RESERVED.contains(&text.to_ascii_lowercase().as_str());
    if plain {
        text.to_owned()
    } else {
        in_quotes(text)
    }
}

/// A text between quotes, with escapes for invisible characters.
fn in_quotes(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    for c in Json::from(text).to_string().chars() {
        if (c.is_ascii() && c != '\u{7f}') || c.is_alphanumeric() {
            quoted.push(c);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(quoted, "\\U{:08X}", u32::from(c));
        }
    }
    quoted
}

/// Words that some YAML parsers do not read as text.
const RESERVED: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// `{ a: 1, b: 2 }` of the present parts; `None` if there are none.
fn map(parts: &[Option<String>]) -> Option<String> {
    let parts: Vec<&str> = parts.iter().flatten().map(String::as_str).collect();
    (!parts.is_empty()).then(|| format!("{{ {} }}", parts.join(", ")))
}

fn section(file: &mut String, key: &str, parts: &[Option<String>]) {
    if let Some(map) = map(parts) {
        line(file, format_args!("{key}: {map}"));
    }
}

/// A text with a key, if it is present.
fn text_part(key: &str, text: Option<&str>) -> Option<String> {
    part(key, quoted(text?))
}

fn part(key: &str, value: impl fmt::Display) -> Option<String> {
    Some(format!("{key}: {value}"))
}

/// Writes the keys that differ from the defaults.
fn server(file: &mut String, config: &Config) {
    section(file, "server", &differing(config, &Config::default()));
}

/// The keys of a configuration that differ from another.
fn differing(config: &Config, usual: &Config) -> Vec<Option<String>> {
    let of = |config: &Config| serde_json::to_value(config).unwrap_or_default();
    let (Json::Object(mine), Json::Object(usual)) = (of(config), of(usual)) else {
        return Vec::new();
    };
    mine.iter()
        .filter(|(key, value)| usual.get(*key) != Some(*value))
        .map(|(key, value)| part(key, json(value)))
        .collect()
}

fn json(value: &Json) -> String {
    match value {
        Json::String(text) => quoted_span(text),
        Json::Object(entries) => {
            let parts: Vec<_> = entries.iter().map(|(k, v)| part(k, json(v))).collect();
            map(&parts).unwrap_or_else(|| "{}".to_owned())
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) => value.to_string(),
    }
}

/// Durations need no quotes.
fn quoted_span(text: &str) -> String {
    if Span::parse(text).is_ok() {
        text.to_owned()
    } else {
        quoted(text)
    }
}

fn capacity(file: &mut String, capacity: &Capacity) {
    let usual = usual_capacity();
    section(
        file,
        "capacity",
        &[
            (capacity.service != usual.service)
                .then(|| format!("service: {}", spans(&capacity.service))),
            (capacity.commit != usual.commit)
                .then(|| format!("commit: {}", spans(&capacity.commit))),
            (capacity.queue != usual.queue).then(|| format!("queue: {}", capacity.queue)),
            (capacity.snapshot_every != usual.snapshot_every)
                .then(|| format!("snapshot_every: {}", capacity.snapshot_every)),
        ],
    );
}

fn client(file: &mut String, client: &Client) {
    let usual = USUAL_CLIENT;
    section(
        file,
        "client",
        &[
            (client.timeout != usual.timeout).then(|| format!("timeout: {}", client.timeout)),
            (client.backoff != usual.backoff).then(|| format!("backoff: {}", client.backoff)),
            (client.max != usual.max).then(|| format!("max: {}", client.max)),
            (client.attempts != usual.attempts).then(|| format!("attempts: {}", client.attempts)),
        ],
    );
}

fn network(file: &mut String, network: &Network) {
    let usual = usual_network();
    let chance = |key, ratio: Ratio| (ratio != Ratio::NEVER).then(|| format!("{key}: {ratio}"));
    section(
        file,
        "network",
        &[
            (network.latency != usual.latency)
                .then(|| format!("latency: {}", spans(&network.latency))),
            chance("loss", network.loss),
            chance("duplicate", network.duplicate),
            chance("stream_break", network.stream_break),
            (network.addresses > 0).then(|| format!("addresses: {}", network.addresses)),
        ],
    );
}

fn schedule(file: &mut String, schedule: Schedule) {
    let Schedule::Race(race) = schedule else {
        return;
    };
    if race == Race::default() {
        line(file, format_args!("schedule: race"));
    } else {
        let Race { depth, hug } = race;
        line(
            file,
            format_args!("schedule: {{ race: {{ depth: {depth}, hug: {hug} }} }}"),
        );
    }
}

fn spans(table: &Quantiles) -> String {
    distribution(table, &|value| Span(value).to_string())
}

fn lengths(table: &Quantiles) -> String {
    distribution(table, &|value| value.to_string())
}

fn distribution(table: &Quantiles, unit: &dyn Fn(u64) -> String) -> String {
    match table.shape() {
        Shape::Fixed(value) => unit(value),
        Shape::Uniform(low, high) => format!("{{ min: {}, max: {} }}", unit(low), unit(high)),
        Shape::Lognormal { p50, p99 } => format!("{{ p50: {}, p99: {} }}", unit(p50), unit(p99)),
    }
}

fn phase(phase: &Phase) -> String {
    let mut parts = vec![part("name", quoted(&phase.name))];
    if phase.arrivals == Arrivals::Pause {
        parts.push(part("pause", phase.duration));
        return map(&parts).unwrap_or_default();
    }
    parts.push(part("duration", phase.duration));
    match phase.arrivals {
        Arrivals::Pause => {}
        Arrivals::Count(count) => parts.push(part("arrival_count", count)),
        Arrivals::Rate {
            from_milli,
            to_milli,
            mode,
        } => {
            parts.push(part("arrival_rate", milli(from_milli)));
            parts.push((to_milli != from_milli).then(|| format!("ramp_to: {}", milli(to_milli))));
            let name = MODES.iter().find(|(_, known)| *known == mode);
            parts.push(
                name.filter(|(_, mode)| *mode != ArrivalMode::Uniform)
                    .map(|(name, _)| format!("mode: {name}")),
            );
        }
    }
    parts.push(phase.max_users.map(|most| format!("max_users: {most}")));
    map(&parts).unwrap_or_default()
}

/// Thousandths as a number.
fn milli(thousandths: u64) -> String {
    let (whole, rest) = (thousandths / 1_000, thousandths % 1_000);
    if rest == 0 {
        return whole.to_string();
    }
    format!("{whole}.{rest:03}")
        .trim_end_matches('0')
        .to_owned()
}

fn persona(file: &mut String, persona: &Persona) {
    line(file, format_args!("  - name: {}", quoted(&persona.name)));
    line(file, format_args!("    weight: {}", persona.weight));
    if let Some(habits) = habits(persona.habits) {
        line(file, format_args!("    habits: {habits}"));
    }
    if let Some(word) = stream_word(persona.stream, persona.manner.stream_by) {
        line(file, format_args!("    stream: {word}"));
    }
    if persona.manner.reads != Reads::default() {
        let word = word_of(&READS, persona.manner.reads);
        line(file, format_args!("    reads: {word}"));
    }
    if persona.manner.names != Naming::default() {
        let word = word_of(&NAMINGS, persona.manner.names);
        line(file, format_args!("    names: {word}"));
    }
    line(file, format_args!("    flow:"));
    for step in persona.flow.iter() {
        line(file, format_args!("      - {}", flow_step(step)));
    }
}

/// The stream that a user opens; `None` for the default.
fn stream_word(stream: bool, by: ReadBy) -> Option<&'static str> {
    match (stream, by) {
        (false, _) => Some("none"),
        (true, ReadBy::Handle) => None,
        (true, ReadBy::ReaderId) => Some("reader"),
    }
}

/// The word of a value in the table.
fn word_of<T: Copy + PartialEq>(table: &[(&'static str, T)], value: T) -> &'static str {
    let found = table.iter().find(|(_, of)| *of == value);
    found.map_or("", |(word, _)| *word)
}

fn habits(habits: Habits) -> Option<String> {
    let chance = |key, ratio: Ratio| (ratio != Ratio::NEVER).then(|| format!("{key}: {ratio}"));
    map(&[
        chance("bare_check", habits.bare_check),
        chance("forget_handle", habits.forget_handle),
        chance("abandon", habits.abandon),
        chance("parallel", habits.parallel),
        chance("no_key", habits.no_key),
        chance("second_stream", habits.second_stream),
        chance("stray", habits.stray),
    ])
}

fn user(user: &ScriptUser) -> String {
    let opens = user.opens.iter().map(|opening| net(opening, &[]));
    let opens: Vec<String> = opens
        .map(|net| net.unwrap_or_else(|| "{}".into()))
        .collect();
    let stream = stream_word(user.stream, user.stream_by);
    if stream.is_none() && opens.is_empty() {
        return quoted(&user.name);
    }
    let parts = [
        part("name", quoted(&user.name)),
        stream.map(|word| format!("stream: {word}")),
        (!opens.is_empty()).then(|| format!("opens: [{}]", opens.join(", "))),
    ];
    map(&parts).unwrap_or_default()
}

fn name_of(users: &[ScriptUser], index: u32) -> String {
    users
        .get(index as usize)
        .map_or_else(String::new, |user| quoted(&user.name))
}

fn script_step(step: &ScriptStep, users: &[ScriptUser]) -> String {
    let left_out: Vec<&str> = ARGUMENTS
        .iter()
        .filter(|(_, argument)| step.leave_out.contains(argument))
        .map(|(name, _)| *name)
        .collect();
    let parts = [
        part("at", step.at),
        part("user", name_of(users, step.user)),
        part("do", flow_step(&step.what)),
        (!left_out.is_empty()).then(|| format!("leave_out: [{}]", left_out.join(", "))),
        net(&step.net, users).map(|net| format!("net: {net}")),
    ];
    map(&parts).unwrap_or_default()
}

fn net(net: &Net, users: &[ScriptUser]) -> Option<String> {
    let packet = |key: &str, delivery: Option<Delivery>| {
        delivery.map(|d| format!("{key}: {}", delivered(d)))
    };
    let pushes: Vec<_> = net
        .push
        .iter()
        .map(|(to, delivery)| part(&name_of(users, *to), delivered(*delivery)))
        .collect();
    let empty = || "{}".to_owned();
    let retries: Vec<String> = net
        .retries
        .iter()
        .map(|retry| self::net(retry, users).unwrap_or_else(empty))
        .collect();
    map(&[
        packet("request", net.request),
        packet("duplicate", net.duplicate),
        packet("reply", net.reply),
        map(&pushes).map(|pushes| format!("push: {pushes}")),
        (!retries.is_empty()).then(|| format!("retries: [{}]", retries.join(", "))),
    ])
}

fn delivered(delivery: Delivery) -> String {
    match delivery {
        Delivery::After(latency) => latency.to_string(),
        Delivery::Lost => "lost".to_owned(),
    }
}

fn fault(fault: &Fault, users: &[ScriptUser], server: &Config) -> String {
    let whom = |victims: &Victims| match victims {
        Victims::Share(share) => format!("share: {share}"),
        Victims::Users(those) => {
            let names: Vec<String> = those.iter().map(|u| name_of(users, *u)).collect();
            format!("users: [{}]", names.join(", "))
        }
    };
    let lasting = |key: &str, victims: &Victims, length: Span| {
        format!("{key}: {{ {}, for: {length} }}", whom(victims))
    };
    let what = match &fault.kind {
        FaultKind::Down { down_for, how } => match how {
            Outage::Stop => format!("stop: server, down_for: {down_for}"),
            Outage::Crash => format!("crash: server, down_for: {down_for}"),
            Outage::CrashUnsynced => {
                format!("crash: server, down_for: {down_for}, lose_unsynced: true")
            }
        },
        FaultKind::Configure(config) => {
            let keys = differing(config, server);
            format!(
                "configure: {}",
                map(&keys).unwrap_or_else(|| "{}".to_owned())
            )
        }
        FaultKind::Partition { victims, duration } => lasting("partition", victims, *duration),
        FaultKind::SlowReaders { victims, duration } => lasting("slow_readers", victims, *duration),
        FaultKind::Suspend { victims, duration } => lasting("suspend", victims, *duration),
        FaultKind::SlowDisk { factor, duration } => {
            format!("slow_disk: {{ factor: {factor}, for: {duration} }}")
        }
        FaultKind::FailDisk { duration, unknown } => {
            let unknown = if *unknown { ", unknown: true" } else { "" };
            format!("fail_disk: {{ for: {duration}{unknown} }}")
        }
        FaultKind::ClockJump { by } => format!("clock_jump: {by}"),
        FaultKind::LoseReplies => "lose: replies".to_owned(),
        FaultKind::Operator(act) => format!("operator: {}", operator(act, users)),
    };
    let optional = match fault.need {
        Need::Required => "",
        Need::Optional => ", optional: true",
    };
    let at = match fault.milestone {
        None => format!("at: {}", fault.at),
        Some(milestone) => {
            let from = (fault.at > Span::ZERO).then(|| format!("at: {}, ", fault.at));
            let (group, name) = milestone.reached.words();
            let count = match milestone.count {
                1 => String::new(),
                count => format!(", count: {count}"),
            };
            let from = from.unwrap_or_default();
            format!("{from}at_milestone: {{ {group}: {name}{count} }}")
        }
    };
    format!("{{ {at}, {what}{optional} }}")
}

fn operator(act: &OperatorAct, users: &[ScriptUser]) -> String {
    let (name, user) = (act.verb.name(), act.user);
    match user {
        None => name.to_owned(),
        Some(user) => format!("{{ {name}: {{ user: {} }} }}", name_of(users, user)),
    }
}

fn verdict(file: &mut String, plan: &Plan) {
    if plan.properties != PROPERTIES {
        line(
            file,
            format_args!("properties: [{}]", plan.properties.join(", ")),
        );
    }
    if !plan.expect_sometimes.is_empty() {
        let points = plan.expect_sometimes.join(", ");
        line(file, format_args!("expect_sometimes: [{points}]"));
    }
    thresholds(file, &plan.thresholds);
    if plan.allow_stuck != Ratio::NEVER {
        line(file, format_args!("allow_stuck: {}", plan.allow_stuck));
    }
}

/// Thresholds of one metric are adjacent, as the parser orders them.
fn thresholds(file: &mut String, thresholds: &[Threshold]) {
    if thresholds.is_empty() {
        return;
    }
    line(file, format_args!("thresholds:"));
    for same in thresholds.chunk_by(|a, b| a.metric == b.metric) {
        let expressions: Vec<String> = same
            .iter()
            .map(|threshold| Json::from(threshold.expression.as_str()).to_string())
            .collect();
        let metric = same.first().map_or("", |threshold| threshold.metric);
        line(
            file,
            format_args!("  {metric}: [{}]", expressions.join(", ")),
        );
    }
}

//! Checks that the documentation names everything that the programs know: keys of scenarios,
//! limits, flags, tools, properties and metrics.

use std::collections::BTreeSet;

use book::page::Page;
use serde_json::Value;
use server_chat::tools::Tool;

use crate::{none_of, pages, text};

/// The words of a page within code, inline or fenced.
fn words_in_code(path: &str) -> BTreeSet<String> {
    let page = Page::read(&text(path));
    let is_joined = |c: char| c.is_alphanumeric() || "_.-".contains(c);
    let blocks = page.fences.iter().map(|fence| &fence.text);
    let code = page.code.iter().chain(blocks);
    code.flat_map(|code| code.split(move |c| !is_joined(c)))
        .map(str::to_owned)
        .collect()
}

/// Those of `names` that a page does not show in code.
pub(crate) fn missing<'a>(path: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let shown = words_in_code(path);
    let left_out = names.into_iter().filter(|name| !shown.contains(*name));
    left_out
        .map(|name| format!("{path} does not name `{name}`"))
        .collect()
}

#[test]
fn the_reference_names_every_key_and_word_of_scenarios() {
    let schema = text("scenarios/schema.json");
    let mut schema: Value = serde_json::from_str(&schema).expect("the schema is JSON");
    let definitions = schema["$defs"].as_object_mut().expect("a map");
    let config = definitions.remove("Config");
    let mut names = BTreeSet::new();
    names_in(&schema, &mut names);
    assert!(names.len() > 100, "only {} names were found", names.len());
    // Properties and limits have pages of their own.
    let properties = sim_model::names::PROPERTIES;
    let rest = names.iter().map(String::as_str);
    let rest = rest.filter(|name| !properties.contains(name));
    none_of(&missing("docs/scenario-reference.md", rest));

    none_of(&missing("docs/running.md", properties));
    let limits = config.expect("limits have a definition");
    let limits = limits["properties"].as_object().expect("a map");
    let limits = limits.keys().map(String::as_str);
    none_of(&missing("docs/protocol.md", limits));
}

/// Every key and every enumerated word of a schema.
fn names_in(schema: &Value, names: &mut BTreeSet<String>) {
    let Value::Object(map) = schema else {
        if let Value::Array(all) = schema {
            all.iter().for_each(|one| names_in(one, names));
        }
        return;
    };
    for (key, value) in map {
        let words = value.as_array().into_iter().flatten();
        match key.as_str() {
            "enum" => names.extend(words.filter_map(Value::as_str).map(str::to_owned)),
            "const" => names.extend(value.as_str().map(str::to_owned)),
            // A map of schemas, not a schema. A scenario also has a key of this name.
            "properties" | "$defs" => {
                for (name, value) in value.as_object().into_iter().flatten() {
                    if key == "properties" {
                        names.insert(name.clone());
                    }
                    names_in(value, names);
                }
            }
            _ => names_in(value, names),
        }
    }
}

#[test]
fn every_option_of_the_programs_is_named() {
    let shown: BTreeSet<String> = pages()
        .iter()
        .filter(|page| page.path != "docs/CHANGELOG.md")
        .flat_map(|page| words_in_code(&page.path))
        .collect();
    let mut helps = vec![help_of_server(&[])];
    helps.extend(["stdio", "demo"].map(|word| help_of_server(&[word])));
    let words = "run explore shrink validate exhaust compare calibrate";
    helps.extend(words.split(' ').map(help_of_sim));
    let flags: BTreeSet<String> = helps.iter().flat_map(|help| flags_in(help)).collect();
    assert!(flags.len() > 40, "only {flags:?} were found");
    let unnamed: Vec<_> = flags.difference(&shown).cloned().collect();
    none_of(&unnamed);
}

fn help_of_sim(word: &str) -> String {
    let words = ["sim", word, "--help"].map(Into::into);
    sim::cli::parse(words)
        .expect_err("help is told as an error")
        .to_string()
}

fn help_of_server(words: &[&str]) -> String {
    let all = ["talking-stick"].iter().chain(words).chain(&["--help"]);
    let parsed = <server_settings::cli::Cli as clap::Parser>::try_parse_from(all);
    parsed.expect_err("help is told as an error").to_string()
}

/// The options in a help text: words at the start of a line with two hyphens, possibly after a
/// short form.
fn flags_in(help: &str) -> impl Iterator<Item = String> {
    let options = help.split("\nExamples:").next().unwrap_or_default();
    options.lines().filter_map(|line| {
        let line = line.trim_start();
        let long = match line.split_once(", ") {
            Some((short, long)) if short.len() == 2 && short.starts_with('-') => long,
            _ => line,
        };
        let flag = long.split([' ', ',']).next()?;
        let own = !["--help", "--version"].contains(&flag);
        (flag.starts_with("--") && own).then(|| flag.to_owned())
    })
}

#[test]
fn every_tool_is_named() {
    let names = Tool::all().map(Tool::name);
    none_of(&missing("docs/agents.md", names.clone()));
    none_of(&missing("docs/protocol.md", names));
}

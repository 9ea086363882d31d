//! Checks that the programs accept every command in the examples.

use std::ffi::OsString;
use std::path::Path;

use book::pages::root;
use book::shell::{Command, commands};
use clap::Parser as _;
use server_settings::cli::{Cli, Command as Word, ServeArgs};
use server_settings::{Settings, Unnamed};

use crate::{fences, none_of};

/// Programs of other projects, or ones that the check runs itself: their arguments are not checked.
const OTHERS: [&str; 17] = [
    "base64",
    "claude",
    "codex",
    "cut",
    "curl",
    "docker",
    "echo",
    "git",
    "grep",
    "head",
    "install",
    "mkdir",
    "jq",
    "printf",
    "sed",
    "systemctl",
    "tr",
];

/// Subcommands of Cargo in examples. `run` and `xtask` are checked further.
const CARGO: [&str; 5] = ["bench", "build", "insta", "install", "test"];

#[test]
fn every_command_is_understood() {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for (place, fence) in fences(&["sh"]) {
        let found = commands(&fence.text);
        let told = |line| format!("{place}: line {line} of it ends within a quotation");
        wrong.extend(found.as_ref().err().map(told));
        for command in found.unwrap_or_default() {
            tried += 1;
            if let Err(why) = check(&command) {
                wrong.push(format!("{place}: `{}`: {why}", command.words.join(" ")));
            }
        }
    }
    none_of(&wrong);
    assert!(tried > 100, "only {tried} commands were found");
}

/// Checks that the program accepts its arguments.
fn check(command: &Command) -> Result<(), String> {
    let mut words: Vec<&str> = command.words.iter().map(String::as_str).collect();
    if let [first, .., last] = &mut words[..]
        && first.contains("$(")
    {
        // Of `a=$(b c)` the command is `b c`.
        *first = command.program();
        *last = last.trim_end_matches(')');
    }
    match words[..] {
        ["cargo", "run", ref rest @ ..] => {
            let split = rest.iter().position(|word| *word == "--");
            let (options, words) = rest.split_at(split.unwrap_or(rest.len()));
            match options {
                ["--release" | "--quiet", "-p", package]
                | ["--release", "-p", package @ "sim", "--features", "tls"] => {
                    of_program(package, words)
                }
                _ => Err("expected `cargo run --release -p PACKAGE`".into()),
            }
        }
        ["cargo", "xtask", ref words @ ..] => of_xtask(words),
        ["cargo", subcommand, ..] if CARGO.contains(&subcommand) => Ok(()),
        ["sim", ref words @ ..] => of_sim(words),
        ["talking-stick", ref words @ ..] => of_server(words),
        _ if OTHERS.contains(&command.program()) => Ok(()),
        _ => Err("an unknown program".into()),
    }
}

fn of_program(package: &str, words: &[&str]) -> Result<(), String> {
    let words = words.strip_prefix(&["--"]).unwrap_or(words);
    match package {
        "sim" => of_sim(words),
        "server" => of_server(words),
        _ => Err(format!("`{package}` has no program")),
    }
}

/// The tests of `cargo xtask` parse its arguments. Only their presence is checked here.
fn of_xtask(words: &[&str]) -> Result<(), String> {
    match words.first() {
        Some(_) => Ok(()),
        None => Err("`cargo xtask` needs a word".into()),
    }
}

fn of_sim(words: &[&str]) -> Result<(), String> {
    let mut all = vec![OsString::from("sim")];
    for word in words {
        all.extend(expanded(word)?.into_iter().map(OsString::from));
    }
    sim::cli::parse(all).map_err(|error| error.to_string())?;
    let is_shipped = |word: &&&str| word.starts_with("scenarios/") || word.starts_with("benches/");
    for word in words.iter().filter(is_shipped) {
        if !word.contains('*') && !root().join(word).exists() {
            return Err(format!("{word} does not exist"));
        }
    }
    Ok(())
}

/// The files that a shell expands `scenarios/*.yaml` to.
fn expanded(word: &str) -> Result<Vec<String>, String> {
    let Some((folder, ending)) = word.split_once("/*") else {
        return Ok(vec![word.to_owned()]);
    };
    let entries = std::fs::read_dir(root().join(folder)).map_err(|error| error.to_string())?;
    let mut found: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(ending))
        .map(|name| format!("{folder}/{name}"))
        .collect();
    found.sort();
    if found.is_empty() {
        return Err(format!("{word} names no file"));
    }
    Ok(found)
}

fn of_server(words: &[&str]) -> Result<(), String> {
    let all = ["talking-stick"].iter().chain(words);
    let cli = Cli::try_parse_from(all).map_err(|error| error.to_string())?;
    match &cli.command {
        None => served(&cli.serve, Unnamed::InUsualFolder),
        Some(Word::Serve(serve)) => served(serve, Unnamed::InUsualFolder),
        Some(Word::Stdio(stdio)) => served(&stdio.serve, Unnamed::InMemory),
        Some(Word::Demo(demo)) => served(&demo.serve, Unnamed::InMemory),
        // The others start no server: their folders are the reader's own.
        Some(_) => Ok(()),
    }
}

/// Checks that a server can start with these settings. A settings file is the reader's own, unless
/// it is in the repository.
fn served(serve: &ServeArgs, unnamed: Unnamed) -> Result<(), String> {
    let is_here = |path: &Path| root().join(path).exists();
    let config = serve.config.as_deref().filter(|path| is_here(path));
    let serve = ServeArgs {
        config: config.map(|path| root().join(path)),
        ..serve.clone()
    };
    Settings::gather(&serve, unnamed)
        .map(drop)
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::check;
    use book::shell::commands;

    fn checked(line: &str) -> Result<(), String> {
        let all = commands(line).expect("the quotation ends");
        all.iter().try_for_each(check)
    }

    #[test]
    fn what_programs_understand_passes() {
        for line in [
            "sim explore scenarios/*.yaml --for 10m",
            "cargo run --release -p sim -- scenarios/burst.yaml --seed 7",
            "cargo run --release -p server -- demo --once",
            "talking-stick --listen 0.0.0.0:1 --allow-hosts a.example --auth-tokens t.txt",
            "TOKEN=$(talking-stick token alice tokens.txt)",
            "cargo install --locked --path sim",
        ] {
            assert_eq!(checked(line), Ok(()), "{line}");
        }
    }

    #[test]
    fn what_they_do_not_understand_is_told() {
        for (line, why) in [
            ("sim explore --sedes 7", "--sedes"),
            ("sim scenarios/gone.yaml", "does not exist"),
            ("sim scenarios/burst.yaml --trace a --seeds 2", "--trace"),
            ("talking-stick --listen 0.0.0.0:1", "--allow-hosts"),
            ("talking-stick --limit stick_leese=1s", "stick_lease"),
            ("cargo run --release -p core", "no program"),
            ("rm -r x", "unknown program"),
        ] {
            let told = checked(line).expect_err(line);
            assert!(told.contains(why), "{line}: {told}");
        }
    }
}

//! The variables of the environment that give settings: their list in the help, the refusal of an
//! unknown one, and their names in errors about their values.

use std::ffi::OsString;

use clap::builder::BoolishValueParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _};

use super::Cli;
use crate::accepted::closest;

/// The beginning of the name of each variable.
const PREFIX: &str = "TALKING_STICK_";

/// The variable of the build, which has no effect on the program.
const OF_BUILD: &str = "TALKING_STICK_COMMIT";

/// The width of a column in the help.
const COLUMN: usize = 39;

/// The flags that no variable gives: each is about one call of the program.
const WITHOUT: &str =
    "accept_loss after dry_run from hook json mark once pace per_hour print run within";

/// A flag and its variable.
type Variable = (String, String);

/// The command line, whose help lists the variables of each command.
pub(crate) fn command() -> clap::Command {
    with_list(with_variables(Cli::command()).mut_subcommands(with_list))
}

/// The command, with a variable of the name of each setting. Its help does not show their values, and
/// that of a switch may be `true`, `false`, 1 or 0.
fn with_variables(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|flag| {
        let id = flag.get_id().as_str();
        if flag.get_long().is_none() || WITHOUT.split(' ').any(|flag| flag == id) {
            return flag;
        }
        // The library keeps no other names.
        let name: &'static str = format!("{PREFIX}{}", id.to_uppercase()).leak();
        let is_switch = !flag.get_action().takes_values();
        let flag = flag.env(name).hide_env(true);
        match is_switch {
            true => flag.value_parser(BoolishValueParser::new()),
            false => flag,
        }
    });
    command.mut_subcommands(with_variables)
}

/// Parses the arguments of the process.
///
/// # Errors
/// They are wrong, or ask for the help; or the environment has an unknown variable.
pub fn parse() -> Result<Cli, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(std::env::args_os());
    let matches = matches.map_err(|why| explained(&mut command, why))?;
    let cli = Cli::from_arg_matches(&matches).map_err(|why| why.format(&mut command))?;
    match unknown(&command, std::env::vars_os()) {
        Some(why) => Err(command.error(ErrorKind::UnknownArgument, why)),
        None => Ok(cli),
    }
}

/// A text with each flag whose value is that of a variable replaced by the variable.
#[must_use]
pub fn in_place_of_flags(text: &str) -> String {
    let used = of_program(&command()).into_iter().filter(is_used);
    used.fold(text.to_owned(), |text, variable| replaced(&text, &variable))
}

/// Replaces the flag where it is a whole word.
fn replaced(text: &str, (flag, name): &Variable) -> String {
    let mut parts = text.split(flag.as_str());
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let goes_on = part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
        whole += if goes_on { flag } else { name };
        whole += part;
    }
    whole
}

/// Whether the variable gives a value: it is set, and its flag is not.
fn is_used((flag, name): &Variable) -> bool {
    // Some flags have a second name with underscores.
    let is_flag = |word: OsString| {
        let word = word.to_string_lossy();
        let word = word.split('=').next().unwrap_or_default().replace('_', "-");
        word == *flag
    };
    std::env::var_os(name).is_some() && !std::env::args_os().any(is_flag)
}

/// The error with the variable at fault, or with what is wrong about the order of the words.
fn explained(command: &mut clap::Command, mut why: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(flag)) = why.get(ContextKind::InvalidArg) {
        let named = in_place_of_flags(flag.split(' ').next().unwrap_or_default());
        if named.starts_with(PREFIX) {
            why.insert(ContextKind::InvalidArg, ContextValue::String(named));
        }
    }
    let Some(ContextValue::String(word)) = why.get(ContextKind::InvalidSubcommand) else {
        return why;
    };
    if why.kind() != ErrorKind::ArgumentConflict {
        return why;
    }
    let names = command.get_subcommands().map(clap::Command::get_name);
    let names: Vec<_> = names.collect();
    let text = match names.contains(&word.as_str()) {
        true => format!(
            "`{word}` goes before its flags, as in `talking-stick {word} --help`, which lists them"
        ),
        false => format!("there is no command `{word}`{}", closest(word, names)),
    };
    command.error(ErrorKind::InvalidSubcommand, text)
}

/// The variables of a command without its subcommands.
fn of_command(command: &clap::Command) -> impl Iterator<Item = Variable> {
    command.get_arguments().filter_map(|argument| {
        let name = argument.get_env()?.to_str()?.to_owned();
        Some((format!("--{}", argument.get_long()?), name))
    })
}

/// The variables of all commands, in the order of their names.
fn of_program(command: &clap::Command) -> Vec<Variable> {
    let others = command.get_subcommands().flat_map(of_command);
    let mut all: Vec<_> = of_command(command).chain(others).collect();
    all.sort_by(|(_, a), (_, b)| a.cmp(b));
    all.dedup_by(|(_, a), (_, b)| a == b);
    all
}

/// What is wrong with the first unknown variable of this program.
fn unknown(
    command: &clap::Command,
    given: impl IntoIterator<Item = (OsString, OsString)>,
) -> Option<String> {
    let known = of_program(command);
    let names = known.iter().map(|(_, name)| name.as_str());
    given.into_iter().find_map(|(name, value)| {
        let name = name.to_string_lossy();
        let is_known = names.clone().any(|known| known == name);
        let counts = name.starts_with(PREFIX) && !is_known && !is_of_others(&name, &value);
        counts.then(|| {
            let hint = closest(&name, names.clone());
            format!("there is no variable `{name}`{hint}")
        })
    })
}

/// Whether another program gives this variable: the build, or Kubernetes, which describes a service
/// of the name `talking-stick` to each container of its namespace.
fn is_of_others(name: &str, value: &OsString) -> bool {
    let is_address = || value.to_string_lossy().contains("://");
    match name.strip_prefix(PREFIX).unwrap_or_default() {
        "SERVICE_HOST" | "SERVICE_PORT" => true,
        "PORT" => is_address(),
        rest => name == OF_BUILD || rest.starts_with("PORT_") || rest.starts_with("SERVICE_PORT_"),
    }
}

/// The command with the list of its variables at the end of its help.
fn with_list(command: clap::Command) -> clap::Command {
    let names: Vec<_> = of_command(&command).map(|(_, name)| name).collect();
    if names.is_empty() {
        return command;
    }
    let mut text = match command.get_after_help() {
        Some(text) => format!("{text}\n\n"),
        None => String::new(),
    };
    text += match names.len() {
        1 => "Variable, for the flag of its name:",
        _ => {
            "Variables, each for the flag of its name, TALKING_STICK_LIMITS for --limit;\n\
             a switch takes true, false, 1 or 0:"
        }
    };
    for pair in names.chunks(2) {
        let line = match pair {
            [left, right] => format!("{left:COLUMN$} {right}"),
            _ => pair.concat(),
        };
        text = text + "\n  " + &line;
    }
    command.after_help(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_variable_is_refused_and_those_of_other_programs_are_not() {
        let of = |name: &str, value: &str| unknown(&command(), [(name.into(), value.into())]);
        for name in [
            "LIMITS",
            "TOKEN",
            "CONNECT",
            "LISTEN",
            "IN_MEMORY",
            "COMMIT",
        ] {
            assert_eq!(of(&format!("{PREFIX}{name}"), "x"), None, "{name}");
        }
        for (name, value) in [
            ("TALKING_STICK_SERVICE_HOST", "10.0.0.1"),
            ("TALKING_STICK_SERVICE_PORT", "8894"),
            ("TALKING_STICK_SERVICE_PORT_HTTP", "8894"),
            ("TALKING_STICK_PORT", "tcp://10.0.0.1:8894"),
            ("TALKING_STICK_PORT_8894_TCP_ADDR", "10.0.0.1"),
            ("TALKING", "x"),
        ] {
            assert_eq!(of(name, value), None, "{name}");
        }
        let limit = of("TALKING_STICK_LIMIT", "stick=optional").expect("unknown");
        assert_eq!(
            limit,
            "there is no variable `TALKING_STICK_LIMIT`; did you mean `TALKING_STICK_LIMITS`?"
        );
        for flag in WITHOUT.split(' ') {
            let name = format!("{PREFIX}{}", flag.to_uppercase());
            assert!(of(&name, "true").is_some(), "{name}");
        }
        assert!(of("TALKING_STICK_PORT", "9000").is_some());
        assert!(of("TALKING_STICK_SERVICE_NAME", "x").is_some());
    }

    #[test]
    fn the_variables_of_the_files_for_deployment_are_known() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
        let known = of_program(&command());
        let mut found = 0;
        for file in [
            "Dockerfile",
            "compose.yaml",
            "cluster/compose.yaml",
            "cluster/talking-stick.yaml",
        ] {
            let text = std::fs::read_to_string(folder.join(file)).expect("it is there");
            for (place, _) in text.match_indices(PREFIX) {
                let rest = &text[place..];
                let end = rest.find(|c: char| !c.is_ascii_uppercase() && c != '_');
                let name = &rest[..end.unwrap_or(rest.len())];
                let is_known = known.iter().any(|(_, known)| known == name);
                assert!(is_known || name == OF_BUILD, "{file}: {name}");
                found += 1;
            }
        }
        assert!(found > 10, "only {found} were found");
    }

    #[test]
    fn a_flag_is_replaced_as_a_whole_word() {
        let variable = ("--log".into(), "TALKING_STICK_LOG".into());
        assert_eq!(
            replaced("--log x, --log-level and --log", &variable),
            "TALKING_STICK_LOG x, --log-level and TALKING_STICK_LOG"
        );
    }
}

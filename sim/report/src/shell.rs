//! Commands to paste into a shell: complete, and never wider than the page.

use std::sync::OnceLock;

use unicode_width::UnicodeWidthStr as _;

use super::line::{Line, PAGE, Style};
use super::numbers::told;
use sim_model::outcome::{RunResult, Trial};
use sim_model::recipe::Recipe;

/// How the program is started from its source.
const FROM_SOURCE: &str = "cargo run --release -p sim --";

/// How this program was started.
static STARTED_AS: OnceLock<String> = OnceLock::new();

/// Sets how the program was started, as the path that its caller wrote. Without that, commands start
/// it from the source.
pub fn started_as(path: &str) {
    // The first call counts.
    let _ = STARTED_AS.set(quote(path));
}

fn program() -> &'static str {
    STARTED_AS.get().map_or(FROM_SOURCE, String::as_str)
}

/// The command that repeats a scenario with these seeds and this recipe.
#[must_use]
pub fn repeat_command(file: &str, seed: u64, seeds: u64, recipe: &Recipe) -> String {
    let many = told(" --seeds ", (seeds > 1).then_some(seeds), "");
    let recipe = by_recipe(recipe);
    run_command(file) + &format!(" --seed {seed}{many}{recipe}")
}

/// The option for a recipe; empty for the plain run.
fn by_recipe(recipe: &Recipe) -> String {
    told(" --recipe ", (!recipe.is_plain()).then_some(recipe), "")
}

/// The command that runs a scenario with its own seed.
#[must_use]
pub fn run_command(file: &str) -> String {
    format!("{} {}", program(), quote(file))
}

/// The command that tries one seed again, with its drawn configuration.
#[must_use]
pub(super) fn explore_command(file: &str, trial: &Trial) -> String {
    let (file, seed) = (quote(file), trial.seed);
    let recipe = by_recipe(&trial.recipe);
    let program = program();
    format!("{program} explore {file} --seeds 1 --seed {seed}{recipe}")
}

/// After a pass: the command for further seeds.
pub(super) fn further_command(file: &str, result: &RunResult) -> String {
    if result.seeds == 1 {
        return run_command(file) + " --seeds 200";
    }
    let next = result.seed.wrapping_add(result.seeds);
    repeat_command(file, next, result.seeds, &Recipe::default())
}

/// The command for more seeds of the same scenario, from the same first seed.
pub(super) fn more_seeds_command(file: &str, result: &RunResult) -> String {
    let seeds = result.seeds.saturating_mul(10).max(200);
    run_command(file) + &format!(" --seeds {seeds}")
}

/// The text as one word of a POSIX shell. It uses backslashes instead of quotes, so that a line may
/// end anywhere.
#[must_use]
pub fn quote(path: &str) -> String {
    let mut word = String::new();
    for c in super::line::visible(path).chars() {
        let plain = c.is_alphanumeric() || "/._-+=:,@%".contains(c) || !c.is_ascii();
        if !plain {
            word.push('\\');
        }
        word.push(c);
    }
    word
}

/// The command after a label, broken so that a shell joins it again: between words if possible, and
/// within a word that is wider than the page (then without an indent, which would become part of
/// the command).
pub(super) fn command_lines(label: &str, command: &str, indent: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut line = Line::styled(Style::Faint, label).pad(indent);
    let words = words(command);
    for (i, word) in words.iter().enumerate() {
        // A continued line ends with a backslash, after a space if a word ended there.
        let reserved = if i + 1 == words.len() { 0 } else { 2 };
        if i > 0 && line.width() + 1 + word.width() + reserved > PAGE {
            lines.push(line.text(" \\"));
            line = Line::new().text(&" ".repeat(indent));
        } else if i > 0 {
            line = line.text(" ");
        }
        for (k, piece) in pieces(word, PAGE - line.width() - reserved)
            .iter()
            .enumerate()
        {
            if k > 0 {
                lines.push(line.text("\\"));
                line = Line::new();
            }
            line = line.text(piece);
        }
    }
    lines.push(line);
    lines
}

/// The words of a command; a backslash keeps the space after it.
fn words(command: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (i, c) in command.char_indices() {
        if c == ' ' && !escaped {
            words.push(&command[start..i]);
            start = i + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    words.push(&command[start..]);
    words
}

/// A word in pieces that each fit on a line, the first into `first` columns. An escaped character
/// stays with its backslash.
fn pieces(word: &str, first: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let reserved = usize::from(word.width() > first);
    let mut room = first.saturating_sub(reserved);
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        let mut unit = c.to_string();
        if c == '\\' {
            unit.extend(chars.next());
        }
        if let Some(piece) = pieces.last_mut()
            && (piece.is_empty() || piece.width() + unit.width() <= room)
        {
            piece.push_str(&unit);
        } else {
            pieces.push(unit);
            room = PAGE - 2;
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Paint;

    /// Parses the lines like a shell: joins continued lines, then splits them into words.
    fn as_shell(lines: &[Line]) -> Vec<String> {
        let mut text = String::new();
        for line in lines {
            line.render(Paint::Plain, &mut text);
        }
        for line in text.lines() {
            assert!(line.width() <= PAGE, "{line}");
        }
        let joined = text.replace("\\\n", "");
        let (mut words, mut word, mut chars) = (Vec::new(), String::new(), joined.trim().chars());
        while let Some(c) = chars.next() {
            match c {
                '\\' => word.extend(chars.next()),
                ' ' if word.is_empty() => {}
                ' ' => words.push(std::mem::take(&mut word)),
                c => word.push(c),
            }
        }
        words.push(word);
        words
    }

    #[test]
    fn a_command_stays_whole_however_long_the_path() {
        for name in [
            "scenarios/burst.yaml".to_owned(),
            "my files/it's a \"test\" $HOME.yaml".to_owned(),
            format!("{}/x.yaml", "a_directory/".repeat(5)),
            format!("{}.yaml", "ab cd".repeat(60)),
            "long".repeat(80),
        ] {
            let command = repeat_command(&name, 1337, 1, &Recipe::default());
            let lines = command_lines("repeat", &command, 10);
            let words = as_shell(&lines);
            let expected: Vec<&str> = FROM_SOURCE
                .split(' ')
                .chain([name.as_str(), "--seed", "1337"])
                .collect();
            assert_eq!(words[0], "repeat");
            assert_eq!(words[1..], expected);
        }
    }

    #[test]
    fn a_short_command_is_one_line() {
        let command = repeat_command("scenarios/burst.yaml", 7, 20, &Recipe::default());
        let lines = command_lines("repeat", &command, 10);
        let mut text = String::new();
        lines[0].render(Paint::Plain, &mut text);
        assert_eq!(lines.len(), 1);
        assert_eq!(
            text,
            "repeat    cargo run --release -p sim -- scenarios/burst.yaml --seed 7 --seeds 20\n"
        );
    }
}

//! The commands of an example: enough of a shell's grammar to find each program and its arguments.

/// One program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program, then its arguments, without quotes.
    pub words: Vec<String>,
}

impl Command {
    /// The program. For an assignment such as `a=$(b c)` it is `b`.
    #[must_use]
    pub fn program(&self) -> &str {
        let first = self.words.first().map_or("", String::as_str);
        let program = first.rsplit("$(").next().unwrap_or(first);
        program.trim_end_matches(')')
    }
}

/// Separators between commands.
const BETWEEN: [&str; 5] = ["|", "&&", "||", ";", "&"];

/// Redirections, whose file is no argument of the command.
const REDIRECTED: [&str; 5] = [">", ">>", "<", "2>", "2>>"];

/// The commands of an example, in order, without comments and plain assignments.
///
/// # Errors
/// The line of an unterminated quotation.
pub fn commands(example: &str) -> Result<Vec<Command>, usize> {
    let mut found = Vec::new();
    let mut lines = example.lines().enumerate();
    while let Some((index, first)) = lines.next() {
        let line = index + 1;
        let mut logical = first.to_owned();
        let words = loop {
            let goes_on = logical.ends_with('\\');
            if goes_on {
                logical.pop();
            } else if let Some(words) = shlex::split(&logical) {
                break words;
            } else {
                logical.push('\n');
            }
            let (_, next) = lines.next().ok_or(line)?;
            logical.push_str(next);
        };
        found.extend(split(words).map(|words| Command { words }));
    }
    Ok(found)
}

/// The commands among the words of one line.
fn split(words: Vec<String>) -> impl Iterator<Item = Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if REDIRECTED.contains(&&*word) {
            words.next();
        } else if BETWEEN.contains(&&*word) {
            all.push(Vec::new());
        } else if let Some(command) = all.last_mut()
            && !(command.is_empty() && is_assignment(&word))
        {
            command.push(word);
        }
    }
    all.into_iter().filter(|command| !command.is_empty())
}

/// Whether a word is an assignment other than of a command's output.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, value)| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !name.is_empty() && name.chars().all(is_name) && !value.starts_with("$(")
    })
}

#[cfg(test)]
mod tests {
    use super::commands;

    fn words(example: &str) -> Vec<String> {
        let all = commands(example).expect("quotations end");
        all.into_iter()
            .map(|command| command.words.join("·"))
            .collect()
    }

    #[test]
    fn comments_and_assignments_are_no_commands() {
        assert_eq!(
            words("# first\nat=http://here\nA=1 sim x.yaml # that one\n\nls\n"),
            ["sim·x.yaml", "ls"]
        );
    }

    #[test]
    fn a_command_goes_on_behind_a_backslash_and_within_quotes() {
        assert_eq!(
            words("sim a.yaml \\\n  --seed 7\necho 'b\nc'\nls\n"),
            ["sim·a.yaml·--seed·7", "echo·b\nc", "ls"]
        );
        assert_eq!(commands("ls\necho 'b\n"), Err(2));
        assert_eq!(commands("ls \\\n"), Err(1));
    }

    #[test]
    fn pipes_and_redirections_end_a_command() {
        assert_eq!(
            words("sim schema > s.json\nprintf a | sha256sum | cut -c1 && ls &\nx=$(curl -s y)\n"),
            [
                "sim·schema",
                "printf·a",
                "sha256sum",
                "cut·-c1",
                "ls",
                "x=$(curl·-s·y)",
            ]
        );
    }

    #[test]
    fn a_program_is_also_one_that_a_variable_is_set_by() {
        let all = commands("a=$(b c | d)\ne f\n").expect("no quotation is open");
        let programs: Vec<&str> = all.iter().map(super::Command::program).collect();
        assert_eq!(programs, ["b", "d", "e"]);
    }
}

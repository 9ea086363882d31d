//! Mistakes in a scenario: the place, the accepted values, and the lines around the place.

use std::fmt;
use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{
    Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet, normalize_untrusted_str,
};

/// A range of the file, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The first byte.
    pub(super) start: usize,
    /// The number of bytes.
    pub(super) length: usize,
}

/// The result of reading a part of a scenario.
pub(super) type Read<T> = Result<T, Box<Problem>>;

/// A mistake at a place of a scenario, and those found beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line and column, both from 1; `None` if the mistake is about the whole file, or not in one yet.
    pub at: Option<(usize, usize)>,
    /// The mistake, in one line.
    pub message: String,
    /// The accepted values.
    pub accepted: String,
    pub(super) place: Place,
    /// The label at the place.
    label: String,
    /// A related place, with its label.
    also: Option<(Place, String)>,
    /// The problems of other parts of the same value.
    beside: Vec<Problem>,
}

impl Place {
    /// Makes a problem at this place, with the label "here".
    pub(super) fn wrong(
        self,
        message: impl Into<String>,
        accepted: impl Into<String>,
    ) -> Box<Problem> {
        Box::new(Problem {
            at: None,
            place: self,
            message: message.into(),
            label: "here".into(),
            accepted: accepted.into(),
            also: None,
            beside: Vec::new(),
        })
    }

    /// Returns a problem at this place, with the label "here", as an error.
    pub(super) fn refuse<T>(
        self,
        message: impl Into<String>,
        accepted: impl Into<String>,
    ) -> Read<T> {
        Err(self.wrong(message, accepted))
    }
}

impl Problem {
    /// Replaces the label.
    pub(super) fn labelled(mut self: Box<Self>, label: impl Into<String>) -> Box<Self> {
        self.label = label.into();
        self
    }

    /// Adds a related place.
    pub(super) fn with(mut self: Box<Self>, place: Place, label: impl Into<String>) -> Box<Self> {
        self.also = Some((place, label.into()));
        self
    }

    /// The problem and those beside it, with their file and in its order.
    pub(super) fn within(mut self, file: &str, text: &str) -> ScenarioError {
        let beside = std::mem::take(&mut self.beside);
        let mut mistakes = vec![self];
        mistakes.extend(beside);
        mistakes.sort_by_key(|problem| problem.place.start);
        // The parts of a value that is used again by an alias have the places of the first use.
        mistakes.dedup();
        let more = mistakes.len().saturating_sub(MOST_MISTAKES);
        mistakes.truncate(MOST_MISTAKES);
        for mistake in &mut mistakes {
            mistake.at = Some(line_and_column(text, mistake.place.start));
        }
        ScenarioError {
            file: file.to_owned(),
            mistakes,
            more,
            text: text.to_owned(),
        }
    }
}

/// The problems of one value's parts, collected while the parts are read.
#[derive(Debug, Default)]
#[must_use = "a value with problems is refused"]
pub(super) struct Problems(Option<Box<Problem>>);

impl Problems {
    /// The value of a part; `None` if it has problems, which are kept.
    pub(super) fn keep<T>(&mut self, read: Read<T>) -> Option<T> {
        let mut problem = match read {
            Ok(value) => return Some(value),
            Err(problem) => problem,
        };
        match &mut self.0 {
            None => self.0 = Some(problem),
            Some(first) => {
                let beside = std::mem::take(&mut problem.beside);
                first.beside.push(*problem);
                first.beside.extend(beside);
            }
        }
        None
    }

    /// The whole value, unless a part has a problem. Without one, there is a value.
    pub(super) fn finish<T>(self, value: Option<T>) -> Read<T> {
        match self.0 {
            Some(problem) => Err(problem),
            None => Ok(value.expect("a part is left out only with a problem")),
        }
    }
}

/// The most mistakes of one file that are shown.
const MOST_MISTAKES: usize = 20;

/// An invalid scenario: its mistakes, in the order of the file.
///
/// [`ScenarioError::render`] draws them with the affected lines.
pub struct ScenarioError {
    /// The file's name as given by the caller.
    pub file: String,
    /// The first mistakes, in the order of the file; at least one.
    pub mistakes: Vec<Problem>,
    /// The number of mistakes after these.
    pub more: usize,
    text: String,
}

/// How an error is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorStyle {
    /// With ANSI colours, for a terminal.
    Colour,
    /// Without colours, for files.
    Plain,
}

impl ScenarioError {
    /// The file as a whole cannot be read as a scenario.
    pub(super) fn of_file(
        file: &str,
        message: impl Into<String>,
        accepted: impl Into<String>,
    ) -> Self {
        Self {
            file: file.to_owned(),
            mistakes: vec![*Place::default().wrong(message, accepted)],
            more: 0,
            text: String::new(),
        }
    }

    /// The mistakes as text, each with the affected lines, on this many columns; at most 80.
    #[must_use]
    pub fn render(&self, look: ErrorStyle, columns: usize) -> String {
        let columns = columns.clamp(LEAST_COLUMNS, MOST_COLUMNS);
        let (mistakes, shown) = (self.mistakes.iter(), printable(&self.text));
        let drawn = mistakes.map(|mistake| mistake.render(self, &shown, look, columns));
        let mut drawn: Vec<String> = drawn.collect();
        let (more, file) = (self.more, &self.file);
        if more > 0 {
            let mistakes = if more == 1 { "mistake" } else { "mistakes" };
            drawn.push(format!("… {more} more {mistakes} in {file}\n"));
        }
        drawn.join("\n")
    }
}

impl Problem {
    fn render(
        &self,
        ScenarioError { file, text, .. }: &ScenarioError,
        shown: &str,
        look: ErrorStyle,
        columns: usize,
    ) -> String {
        let wrapped = |text: &str, columns: usize| {
            wrapped(text.split(' '), columns, |word| word.chars().count())
        };
        let message = wrapped(&self.message, columns - "error: ".len());
        let group = Group::with_title(Level::ERROR.primary_title(message));
        let (group, indent) = if self.at.is_some() {
            let mark =
                |(place, label): &(Place, String)| (on_its_line(text, *place), label.clone());
            let primary = mark(&(self.place, self.label.clone()));
            let also = self.also.as_ref().map(mark);
            let ends = also.iter().chain([&primary]).map(|(span, _)| span.end);
            let last = end_of_line(shown, ends.max().unwrap_or(0));
            let (last, _) = line_and_column(shown, last + 1);
            let snippet = snippet(shown, primary, also).path(file.as_str());
            (group.element(snippet), last.to_string().len())
        } else {
            (group.element(Origin::path(file.as_str())), 1)
        };
        let before = indent + " ╰ help: ".chars().count();
        let accepted = wrapped(&self.accepted, columns - before);
        let group = group.element(Level::HELP.message(normalize_untrusted_str(&accepted)));
        let renderer = match look {
            ErrorStyle::Colour => Renderer::styled(),
            ErrorStyle::Plain => Renderer::plain(),
        };
        let renderer = renderer.decor_style(DecorStyle::Unicode);
        renderer.term_width(columns).render(&[group]) + "\n"
    }
}

/// Place and message of each mistake in one line, in the format of compilers.
impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = &self.file;
        let told = self
            .mistakes
            .iter()
            .map(|Problem { at, message, .. }| match at {
                Some((line, column)) => format!("{file}:{line}:{column}: {message}"),
                None => format!("{file}: {message}"),
            });
        f.write_str(&told.collect::<Vec<_>>().join("\n"))
    }
}

impl fmt::Debug for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl std::error::Error for ScenarioError {}

/// The fewest columns of a drawn error: on a narrower terminal, the terminal breaks the lines.
const LEAST_COLUMNS: usize = 40;
/// The most columns of a drawn error.
const MOST_COLUMNS: usize = 80;
/// The most bytes of a line that are underlined.
const LONGEST_MARK: usize = 80;

/// The lines of these marks, and the lines before and after the first one.
fn snippet<'t>(
    text: &'t str,
    (primary, label): (Range<usize>, String),
    also: Option<(Range<usize>, String)>,
) -> Snippet<'t, Annotation<'t>> {
    let before = start_of_line(text, primary.start).saturating_sub(1);
    let after = (end_of_line(text, primary.end) + 1).min(text.len());
    let also = also.map(|(span, label)| AnnotationKind::Context.span(span).label(label));
    Snippet::source(text)
        .annotation(AnnotationKind::Primary.span(primary).label(label))
        .annotations(also)
        .annotations([before, after].map(|at| AnnotationKind::Visible.span(at..at)))
}

/// The words in lines of at most this many columns, by these lengths of words.
pub(super) fn wrapped<'t>(
    words: impl Iterator<Item = &'t str>,
    columns: usize,
    length: fn(&str) -> usize,
) -> String {
    let mut out = String::new();
    let mut width = 0;
    for word in words {
        let length = length(word);
        if width > 0 && width + 1 + length > columns {
            out.push('\n');
            width = 0;
        } else if width > 0 || !out.is_empty() {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += length;
    }
    out
}

/// The text with every character that could move a terminal's cursor replaced by a sign of as many
/// bytes. The renderer itself replaces ASCII's control characters.
fn printable(text: &str) -> String {
    // A line end of another system is not shown either.
    let mut text = format!("{text}\n").replace("\r\n", " \n");
    text.pop();
    text.replace(|c: char| c.is_control() && !c.is_ascii(), "¿")
}

/// A place as a span that stays on one line and is short enough to draw. A place without length
/// (the start of a list or a map) extends to the end of its line.
fn on_its_line(text: &str, place: Place) -> Range<usize> {
    let start = text.floor_char_boundary(place.start);
    let line_end = end_of_line(text, start);
    let end = match place.length {
        0 => start + without_comment(&text[start..line_end]).len(),
        length => start.saturating_add(length).min(line_end),
    };
    let end = text.floor_char_boundary(end.min(start.saturating_add(LONGEST_MARK)));
    start..end.max(start)
}

fn without_comment(line: &str) -> &str {
    line.find(" #").map_or(line, |at| &line[..at]).trim_end()
}

fn start_of_line(text: &str, at: usize) -> usize {
    text[..text.floor_char_boundary(at)]
        .rfind('\n')
        .map_or(0, |end| end + 1)
}

fn end_of_line(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at);
    text[at..]
        .find(['\n', '\r'])
        .map_or(text.len(), |end| at + end)
}

/// Line and column of a byte, both from 1; columns count characters.
fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let at = text.floor_char_boundary(at);
    let line_start = start_of_line(text, at);
    let line = text[..line_start].matches('\n').count();
    (line + 1, text[line_start..at].chars().count() + 1)
}

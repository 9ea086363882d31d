//! Errors in a scenario: the place, the accepted values, and the lines around the place.

use std::fmt;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError,
    MietteSpanContents, SourceCode, SourceSpan, SpanContents,
};

use super::node::Place;

/// The result of reading a part of a scenario.
pub(super) type Read<T> = Result<T, Box<Problem>>;

/// An error at a place, without the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// The place.
    pub(super) place: Place,
    /// The error, in one line.
    pub(super) message: String,
    /// The label at the place.
    pub(super) label: String,
    /// The accepted values.
    pub(super) accepted: String,
    /// A related place, with its label.
    pub(super) also: Option<(Place, String)>,
}

impl Problem {
    /// A problem with the label "here".
    pub(super) fn new(
        place: Place,
        message: impl Into<String>,
        accepted: impl Into<String>,
    ) -> Box<Self> {
        Box::new(Self {
            place,
            message: message.into(),
            label: "here".into(),
            accepted: accepted.into(),
            also: None,
        })
    }

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

    /// The problem with its file.
    pub(super) fn within(self, file: &str, text: &str) -> ScenarioError {
        let (line, column) = line_and_column(text, self.place.start);
        let labels = std::iter::once((self.place, self.label))
            .chain(self.also)
            .map(|(place, label)| (on_its_line(text, place), label))
            .collect();
        ScenarioError(Box::new(Report {
            file: file.to_owned(),
            at: Some((line, column)),
            message: self.message,
            accepted: self.accepted,
            source: Some(Source {
                name: file.to_owned(),
                text: printable(text),
            }),
            labels,
        }))
    }
}

/// An invalid scenario: its first error.
///
/// As a [`Diagnostic`] it shows the affected lines and the accepted values.
pub struct ScenarioError(Box<Report>);

struct Report {
    file: String,
    at: Option<(usize, usize)>,
    message: String,
    accepted: String,
    source: Option<Source>,
    labels: Vec<(SourceSpan, String)>,
}

/// How an error is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// With ANSI colours, for a terminal.
    Colour,
    /// The same without colours.
    Plain,
}

impl ScenarioError {
    /// The file as a whole cannot be read as a scenario.
    pub(super) fn of_file(
        file: &str,
        message: impl Into<String>,
        accepted: impl Into<String>,
    ) -> Self {
        Self(Box::new(Report {
            file: file.to_owned(),
            at: None,
            message: message.into(),
            accepted: accepted.into(),
            source: None,
            labels: Vec::new(),
        }))
    }

    /// The file's name as given by the caller.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.0.file
    }

    /// Line and column, both from 1; `None` if the error is about the whole file.
    #[must_use]
    pub fn line_and_column(&self) -> Option<(usize, usize)> {
        self.0.at
    }

    /// The error, in one line.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The accepted values.
    #[must_use]
    pub fn accepted(&self) -> &str {
        &self.0.accepted
    }

    /// File, line, column and message in one line, in the format of compilers.
    #[must_use]
    pub fn one_line(&self) -> String {
        let Report { file, message, .. } = self.0.as_ref();
        match self.0.at {
            Some((line, column)) => format!("{file}:{line}:{column}: {message}"),
            None => format!("{file}: {message}"),
        }
    }

    /// The error as text, 80 columns wide, with the affected lines.
    #[must_use]
    pub fn render(&self, look: Look) -> String {
        let theme = match look {
            Look::Colour => GraphicalTheme::unicode(),
            Look::Plain => GraphicalTheme::unicode_nocolor(),
        };
        let mut out = String::new();
        let drawn = GraphicalReportHandler::new_themed(theme)
            .with_width(80)
            .with_links(false)
            .render_report(&mut out, self);
        // Writing into a String cannot fail; should drawing ever do, the plain words remain.
        if drawn.is_err() {
            out = format!("{}\n{}\n", self.one_line(), self.0.accepted);
        }
        out
    }
}

/// The error; the place is in the drawing, or in [`ScenarioError::one_line`].
impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.one_line(), self.0.accepted)
    }
}

impl std::error::Error for ScenarioError {}

impl Diagnostic for ScenarioError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.0.accepted))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.0.source.as_ref().map(|s| s as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let mut labels = self.0.labels.iter();
        let first = labels
            .next()
            .map(|(span, label)| LabeledSpan::new_primary_with_span(Some(label.clone()), *span));
        let others =
            labels.map(|(span, label)| LabeledSpan::new_with_span(Some(label.clone()), *span));
        first.map(|first| Box::new(std::iter::once(first).chain(others)) as Box<_>)
    }
}

/// A longer line is shown in part.
const LONG_LINE: usize = 120;
/// The part of a long line that is shown on either side of the place.
const AROUND: usize = 40;

/// The file's name and text, of which overlong lines are shown in part.
struct Source {
    name: String,
    text: String,
}

impl SourceCode for Source {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        lines_before: usize,
        lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let whole = self.text.read_span(span, lines_before, lines_after)?;
        let long = whole
            .data()
            .split(|b| *b == b'\n')
            .any(|line| line.len() > LONG_LINE);
        let (data, span, line, column) = if long {
            let line_start = start_of_line(&self.text, span.offset());
            let start = floor(
                &self.text,
                span.offset().saturating_sub(AROUND).max(line_start),
            );
            let end = floor(
                &self.text,
                (span.offset() + span.len() + AROUND).min(end_of_line(&self.text, span.offset())),
            );
            (
                &self.text.as_bytes()[start..end],
                SourceSpan::from(start..end),
                line_and_column(&self.text, start).0 - 1,
                start - line_start,
            )
        } else {
            (whole.data(), *whole.span(), whole.line(), whole.column())
        };
        let count = data.split(|b| *b == b'\n').count();
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            data,
            span,
            line,
            column,
            count,
        )))
    }
}

/// The text with every character that could move a terminal's cursor replaced by as many question
/// marks as it has bytes.
fn printable(text: &str) -> String {
    let line = |line: &str| -> String {
        // A line end of another system is not shown either.
        let (line, end) = line
            .strip_suffix('\r')
            .map_or((line, ""), |line| (line, " "));
        let clean: String = line
            .chars()
            .map(|c| match (c, c.len_utf8()) {
                ('\t', _) => '\t',
                (c, 1) if c.is_control() => '?',
                (c, _) if c.is_control() => '¿',
                (c, _) => c,
            })
            .collect();
        clean + end
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// A place as a span that stays on one line and is short enough to draw. A place without length
/// (the start of a list or a map) extends to the end of its line.
fn on_its_line(text: &str, place: Place) -> SourceSpan {
    let start = floor(text, place.start);
    let line_end = end_of_line(text, start);
    let end = match place.length {
        0 => start + without_comment(&text[start..line_end]).len(),
        length => start.saturating_add(length).min(line_end),
    };
    let end = floor(text, end.min(start.saturating_add(2 * AROUND)));
    SourceSpan::from(start..end.max(start))
}

fn without_comment(line: &str) -> &str {
    line.find(" #").map_or(line, |at| &line[..at]).trim_end()
}

fn start_of_line(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())]
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(0, |n| n + 1)
}

fn end_of_line(text: &str, at: usize) -> usize {
    let rest = &text.as_bytes()[at.min(text.len())..];
    let length = rest
        .iter()
        .position(|b| matches!(b, b'\n' | b'\r'))
        .unwrap_or(rest.len());
    at.min(text.len()) + length
}

/// The last boundary between characters at or before this byte.
pub(super) fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at.min(text.len()))
}

/// Line and column of a byte, both from 1; columns count characters.
fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let at = floor(text, at);
    let line_start = start_of_line(text, at);
    let line = text.as_bytes()[..line_start]
        .iter()
        .filter(|b| **b == b'\n')
        .count();
    (line + 1, text[line_start..at].chars().count() + 1)
}

//! Lines of a report: styled text, never wider than the page.

use std::ffi::OsStr;
use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The columns of a page.
pub(super) const PAGE: usize = 80;

/// The column of the text after a label.
pub(super) const INDENT: usize = 10;

/// The style of a piece of text. The text has the same meaning without colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Style {
    #[default]
    Plain,
    Strong,
    Faint,
    Good,
    Bad,
    Warn,
}

/// Whether to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paint {
    /// No escape codes.
    #[default]
    Plain,
    /// The terminal's own colours.
    Colour,
}

impl Paint {
    /// Decides whether to use colour: on a terminal by default. `NO_COLOR` (no-color.org) turns it
    /// off everywhere, and `CLICOLOR_FORCE` (bixense.com/clicolors) turns it on everywhere; an
    /// empty variable counts as unset.
    #[must_use]
    pub fn choose(
        is_terminal: bool,
        no_color: Option<&OsStr>,
        clicolor_force: Option<&OsStr>,
    ) -> Self {
        let forbidden = no_color.is_some_and(|value| !value.is_empty());
        let forced = clicolor_force.is_some_and(|value| !value.is_empty() && value != "0");
        if !forbidden && (forced || is_terminal) {
            Self::Colour
        } else {
            Self::Plain
        }
    }
}

impl Style {
    const fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Strong => Some("1"),
            Self::Faint => Some("2"),
            Self::Good => Some("32"),
            Self::Bad => Some("1;31"),
            Self::Warn => Some("33"),
        }
    }
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pieces: Vec<(Style, String)>,
}

impl Line {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn plain(text: &str) -> Self {
        Self::styled(Style::Plain, text)
    }

    pub(super) fn styled(style: Style, text: &str) -> Self {
        Self::new().with(style, text)
    }

    /// Adds a piece. A piece that does not fit on the page is cut, and ends with `…`.
    pub(super) fn with(mut self, style: Style, text: &str) -> Self {
        if text.is_empty() {
            return self;
        }
        let text = fit(&visible(text), PAGE.saturating_sub(self.width()));
        self.pieces.push((style, text));
        self
    }

    pub(super) fn text(self, text: &str) -> Self {
        self.with(Style::Plain, text)
    }

    /// Adds spaces up to a column; at least one, unless the line is empty.
    pub(super) fn pad(self, column: usize) -> Self {
        let least = usize::from(self.width() > 0);
        let spaces = column.saturating_sub(self.width()).max(least);
        self.text(&" ".repeat(spaces))
    }

    /// Adds a right-aligned piece that ends at a column; if it is too wide, it begins after one
    /// space.
    pub(super) fn right(self, style: Style, text: &str, column: usize) -> Self {
        let start = column.saturating_sub(text.width());
        self.pad(start).with(style, text)
    }

    /// Adds these texts, each right-aligned at the end of its column.
    pub(super) fn cells<T: AsRef<str>>(
        self,
        style: Style,
        texts: impl IntoIterator<Item = T>,
        columns: impl IntoIterator<Item = usize>,
    ) -> Self {
        let cells = texts.into_iter().zip(columns);
        cells.fold(self, |line, (text, column)| {
            line.right(style, text.as_ref(), column)
        })
    }

    pub(super) fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| text.width()).sum()
    }

    pub(super) fn render(&self, paint: Paint, out: &mut String) {
        for (style, text) in &self.pieces {
            match (paint, style.code()) {
                (Paint::Colour, Some(code)) => {
                    // Writing to a String cannot fail.
                    let _ = write!(out, "\x1b[{code}m{text}\x1b[0m");
                }
                (Paint::Colour, None) | (Paint::Plain, _) => out.push_str(text),
            }
        }
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
}

/// These blocks of lines, with an empty line between two. Empty blocks are left out.
pub(super) fn page(blocks: impl IntoIterator<Item = Vec<Line>>, paint: Paint) -> String {
    let mut out = String::new();
    for block in blocks.into_iter().filter(|block| !block.is_empty()) {
        if !out.is_empty() {
            out.push('\n');
        }
        for line in block {
            line.render(paint, &mut out);
        }
    }
    out
}

/// Replaces all characters that could move a terminal's cursor or reverse its text: names and
/// sentences come from scenarios and from virtual users.
pub(super) fn visible(text: &str) -> String {
    let harmless = |c: char| {
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() || turns {
            '\u{fffd}'
        } else {
            c
        }
    };
    text.chars().map(harmless).collect()
}

/// The text; if it is wider than `columns`, cut and with `…` at the end.
pub(super) fn fit(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut width = 1;
    for c in text.chars() {
        width += c.width().unwrap_or(0);
        if width > columns {
            break;
        }
        shown.push(c);
    }
    if columns > 0 {
        shown.push('…');
    }
    shown
}

/// Words on as many lines as needed, each after `indent` columns; the first after `label`.
pub(super) fn paragraph(label: &str, text: &str, indent: usize) -> Vec<Line> {
    let words: Vec<&str> = text.split_whitespace().collect();
    flow(label, &words, " ", indent)
}

/// Texts, each on as many lines as it needs; the first after `label`.
pub(super) fn paragraphs(label: &str, texts: &[String], indent: usize) -> Vec<Line> {
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    let each = labels.zip(texts);
    each.flat_map(|(label, text)| paragraph(label, text, indent))
        .collect()
}

/// Items after `label`, with dots between them; no line without items.
pub(super) fn listed(label: &str, items: &[impl AsRef<str>]) -> Vec<Line> {
    match items {
        [] => Vec::new(),
        items => flow(label, items, " · ", INDENT),
    }
}

/// Items joined by `separator` over as many lines as they need, each after `indent` columns; the
/// first after `label`. An item is never broken, only cut if it is wider than the page.
pub(super) fn flow(
    label: &str,
    items: &[impl AsRef<str>],
    separator: &str,
    indent: usize,
) -> Vec<Line> {
    let begin = |label: &str| {
        let line = Line::styled(Style::Faint, label);
        if indent == 0 { line } else { line.pad(indent) }
    };
    let mut lines = Vec::new();
    let mut line = begin(label);
    for (index, item) in items.iter().map(AsRef::as_ref).enumerate() {
        if index > 0 && line.width() + separator.width() + visible(item).width() > PAGE {
            lines.push(line);
            line = begin("");
        } else if index > 0 {
            line = line.text(separator);
        }
        line = line.text(item);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(lines: &[Line]) -> String {
        let mut out = String::new();
        for line in lines {
            line.render(Paint::Plain, &mut out);
        }
        out
    }

    #[test]
    fn a_wide_line_is_cut_by_columns() {
        assert_eq!(fit("abcdef", 6), "abcdef");
        assert_eq!(fit("abcdefg", 6), "abcde…");
        assert_eq!(fit("漢字漢字", 6), "漢字…");
        assert_eq!(fit("漢字漢字", 8), "漢字漢字");
        assert_eq!(fit("abc", 0), "");
        let line = Line::plain(&"x".repeat(200)).text("more");
        assert_eq!(line.width(), PAGE);
    }

    #[test]
    fn control_characters_are_replaced() {
        let line = Line::plain("a\x1b[2Jb\rc\u{202e}d");
        assert_eq!(shown(&[line]), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d\n");
    }

    #[test]
    fn colour_depends_on_the_terminal_and_the_environment() {
        let choose = |is_terminal, no: &str, force: &str| {
            Paint::choose(is_terminal, Some(no.as_ref()), Some(force.as_ref()))
        };
        assert_eq!(Paint::choose(true, None, None), Paint::Colour);
        assert_eq!(Paint::choose(false, None, None), Paint::Plain);
        assert_eq!(choose(true, "", ""), Paint::Colour);
        assert_eq!(choose(true, "1", "1"), Paint::Plain);
        assert_eq!(choose(false, "", "1"), Paint::Colour);
        assert_eq!(choose(false, "", "0"), Paint::Plain);
    }

    #[test]
    fn items_flow_over_lines() {
        let items: Vec<String> = (0..20).map(|n| format!("item_{n}")).collect();
        let text = shown(&flow("reached", &items, " · ", 10));
        assert_eq!(
            text,
            "reached   item_0 · item_1 · item_2 · item_3 · item_4 · item_5 · item_6 · item_7\n          \
             item_8 · item_9 · item_10 · item_11 · item_12 · item_13 · item_14\n          \
             item_15 · item_16 · item_17 · item_18 · item_19\n"
        );
    }

    #[test]
    fn colour_is_written_only_if_enabled() {
        let line = Line::styled(Style::Good, "✓").text(" ok  ");
        let mut plain = String::new();
        line.render(Paint::Plain, &mut plain);
        assert_eq!(plain, "✓ ok\n");
        let mut colour = String::new();
        line.render(Paint::Colour, &mut colour);
        assert_eq!(colour, "\x1b[32m✓\x1b[0m ok\n");
    }
}

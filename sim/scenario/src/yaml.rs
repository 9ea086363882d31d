//! Parses one YAML document into nodes, within limits that no scenario exceeds.

use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, Location, Options};

use super::error::{Problem, Read};
use super::node::{Node, Place};

/// The largest scenario file, in bytes.
pub(super) const MAX_BYTES: usize = 1 << 20;
/// The deepest nesting of lists and maps. A flow with the deepest loops has 70.
const MAX_DEPTH: usize = 80;
/// The most keys, values, lists and maps, with aliases expanded.
const MAX_NODES: usize = 250_000;

/// Reads one YAML document.
pub(super) fn read(text: &str) -> Read<Node> {
    refuse_control_characters(text)?;
    serde_saphyr::from_str_with_options(text, options()).map_err(|error| explain(text, &error))
}

/// Repeated keys are accepted here, because `Fields` gives better errors than the YAML parser.
fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            max_nodes: MAX_NODES,
        },
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        merge_keys: MergeKeyPolicy::Error,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        strict_booleans: true,
        reject_unsupported_tags: true,
        emit_comments: false,
        with_snippet: false,
    }
}

/// Control characters are not allowed in YAML; they are found here, so that the error names them
/// wherever they are.
fn refuse_control_characters(text: &str) -> Read<()> {
    let wrong = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}');
    match text.char_indices().find(|(_, c)| wrong(*c)) {
        None => Ok(()),
        Some((start, c)) => Place { start, length: 1 }.refuse(
            format!(
                "the control character U+{:04X} is in the file",
                u32::from(c)
            ),
            "text without control characters, tabs and line ends apart",
        ),
    }
}

/// Translates errors of the YAML parser into words for authors of scenarios.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "of the parser's sixty errors these need words of our own"
)]
fn explain(text: &str, error: &Error) -> Box<Problem> {
    let place = error
        .location()
        .map_or_else(Place::default, |location| place_of(text, location));
    let inner = match error.without_snippet() {
        Error::AliasError { error, .. } => error.as_ref(),
        _ => error.without_snippet(),
    };
    let say = |message: &str, accepted: &str| place.wrong(message, accepted);
    let too_much = || {
        let accepted = format!(
            "lists and maps at most {MAX_DEPTH} deep, and at most {MAX_NODES} keys and values, \
             aliases counted as what they stand for"
        );
        say("the file nests too deep, or says too much", &accepted)
    };
    match inner {
        Error::MultipleDocuments { .. } => say(
            "a second YAML document begins here",
            "one scenario in each file",
        ),
        // The scanner's own limit can only be recognised by its message.
        Error::ExternalMessage { msg, .. } if msg.contains("recursion limit") => too_much(),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => too_much(),
        Error::UnknownAnchor { .. } => say(
            "an alias to an anchor that is not there",
            "`*name` after an `&name` somewhere above; a text that begins with * needs quotes",
        ),
        Error::RecursiveReferencesRequireWeakTypes { .. } => say(
            "an alias that stands within what it stands for",
            "an alias after its anchor's value has ended",
        ),
        Error::MergeKeyNotAllowed { .. } => say(
            "merge keys (<<) are not part of a scenario",
            "the keys written out; a whole value may be an alias",
        ),
        Error::UnsupportedTag { tag, .. } => say(
            &format!("the YAML tag `{tag}` is not part of a scenario"),
            "values without a tag; a text that begins with ! needs quotes",
        ),
        _ => say(
            &format!("not YAML: {}", words_of(inner)),
            "YAML 1.2; a text with one of : # { } [ ] , & * ! | > ' \" % @ ` in it needs quotes",
        ),
    }
}

/// The parser's message, without the place that it appends.
fn words_of(error: &Error) -> String {
    let words = error.to_string();
    let end = words.rfind(" at line ").unwrap_or(words.len());
    words[..end].to_owned()
}

/// Errors of the scanner have their place only in characters.
fn place_of(text: &str, location: Location) -> Place {
    if location.span().byte_offset().is_some() {
        return Place::of(location);
    }
    let characters = usize::try_from(location.span().offset()).unwrap_or(usize::MAX);
    let start = text
        .char_indices()
        .nth(characters)
        .map_or(text.len(), |(at, _)| at);
    Place { start, length: 1 }
}

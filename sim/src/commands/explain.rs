//! `sim explain`: what a term means, and which terms there are.

use super::{Console, Problem};
use crate::terms::{Term, all, find};
use sim_report::wrapped;

/// Explains a term, or lists all.
pub(super) fn explain(words: &[String], console: &mut Console<'_>) -> Result<u8, Problem> {
    let terms = all();
    if words.is_empty() {
        console.say(&list(&terms));
        return Ok(0);
    }
    let word = words.join(" ");
    let those = find(&terms, &word).map_err(|meant| {
        let meant = meant.map(|name| format!("; did you mean `{name}`?"));
        let meant = meant.unwrap_or_default();
        format!("no term `{word}`{meant}\n  `sim explain` lists all")
    })?;
    let those: Vec<String> = those.into_iter().map(page).collect();
    console.say(&those.join("\n"));
    Ok(0)
}

/// The name of a term, and what is said of it.
fn page(term: &Term) -> String {
    let mut text = format!("{} · {} · docs/{}\n", term.name, term.group, term.page);
    for (head, said) in &term.texts {
        let said = match head.as_str() {
            "" => said.clone(),
            head => format!("{head}: {said}"),
        };
        text += &wrapped(said.split_whitespace(), 2);
    }
    text
}

/// The names of all terms by group.
fn list(terms: &[Term]) -> String {
    let mut text = String::new();
    for group in terms.chunk_by(|one, other| one.group == other.group) {
        let gap = if text.is_empty() { "" } else { "\n" };
        let name = group.first().map_or("", |term| term.group);
        text += &format!("{gap}{}\n", name.to_uppercase());
        text += &wrapped(group.iter().map(|term| term.name.as_str()), 2);
    }
    text + "\nsim explain TERM explains one.\n"
}

//! The terms that `sim explain` explains. Their texts are tables of the book and sentences of it
//! that define a word in bold; nothing is written twice.

/// A group of terms: its name, and the heading and the first column of its table.
type Group = (&'static str, &'static str, &'static str);

macro_rules! page {
    ($name:literal, $groups:expr) => {
        (
            $name,
            include_str!(concat!(env!("OUT_DIR"), "/", $name)),
            $groups,
        )
    };
}

/// The pages of the book with these tables, each with its groups. `build.rs` copies them.
const PAGES: [(&str, &str, &[Group]); 3] = [
    page!(
        "running.md",
        &[
            ("exit codes", "Exit codes", "exit"),
            ("properties", "Properties", "property"),
        ]
    ),
    page!(
        "scenario-reference.md",
        &[
            ("metrics", "Thresholds", "metric"),
            ("figures", "Thresholds", "figure"),
            ("points", "Sometimes points", "point"),
            ("keys of a scenario", "The top level", "key"),
            ("keys of capacity", "capacity", "key"),
            ("keys of client", "client", "key"),
            ("keys of network", "network", "key"),
            ("keys of a persona", "Kinds of users", "key"),
            ("habits", "Habits", "habit"),
            ("steps", "Flows", "step"),
            ("faults", "Faults", "kind"),
            ("keys of a fault", "Faults", "key"),
            ("milestones", "Faults", "milestone"),
        ]
    ),
    page!(
        "protocol.md",
        &[
            ("keys of server", "1. Configuration", "key"),
            ("presence", "2.4 Presence states", "state"),
            ("refusals", "16.3 Refusals", "code"),
        ]
    ),
];

/// The group of words that are defined in sentences.
const WORDS: &str = "words";

/// The page whose words in bold are explained by their sentences.
const WITH_WORDS: &str = "running.md";

/// The most terms that are shown for a word that is no term.
const SHOWN: usize = 12;

/// One term of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// Its name.
    pub name: String,
    /// Its group.
    pub group: &'static str,
    /// The page that explains it.
    pub page: &'static str,
    /// What is said of it: the heading of a column, empty for the only one, and the text.
    pub texts: Vec<(String, String)>,
}

/// All terms, by group.
#[must_use]
pub fn all() -> Vec<Term> {
    let tables = PAGES.iter().flat_map(|(page, text, groups)| {
        let groups = groups.iter();
        groups.flat_map(|group| of_table(*group, page, text))
    });
    let with_words = PAGES.iter().filter(|(page, ..)| *page == WITH_WORDS);
    let words = with_words.flat_map(|(page, text, _)| of_sentences(page, text));
    tables.chain(words).collect()
}

/// The terms of this name, or with it as a part of the name, or else in their texts.
///
/// # Errors
/// There are none. Perhaps the term that was meant.
pub fn find<'t>(terms: &'t [Term], word: &str) -> Result<Vec<&'t Term>, Option<&'t str>> {
    let word = word.trim().to_lowercase();
    let word = word.strip_prefix("exit ").unwrap_or(&word);
    let those = |is_meant: &dyn Fn(&Term) -> bool| {
        let those: Vec<&Term> = terms.iter().filter(|term| is_meant(term)).collect();
        (!those.is_empty() && those.len() <= SHOWN).then_some(those)
    };
    let part = |term: &Term| term.name.split(['_', '.', ' ']).any(|part| part == word);
    let names: Vec<&str> = terms.iter().map(|term| term.name.as_str()).collect();
    let told = |term: &Term| {
        let letters = |c: char| !c.is_alphanumeric() && c != '_';
        let mut texts = term.texts.iter().flat_map(|(_, text)| text.split(letters));
        texts.any(|one| one.to_lowercase() == word)
    };
    if let Some(named) = those(&|term| term.name == word).or_else(|| those(&part)) {
        return Ok(named);
    }
    match sim_scenario::closest(word, &names) {
        Some(name) => Err(Some(name)),
        None => those(&told).ok_or(None),
    }
}

/// The rows of the table of a group.
fn of_table((group, heading, column): Group, page: &'static str, text: &str) -> Vec<Term> {
    let mut terms = Vec::new();
    let (mut under, mut heads) = (false, Vec::<String>::new());
    for line in text.lines() {
        if let Some(title) = line.strip_prefix('#') {
            under = title.trim_start_matches('#').trim() == heading;
        } else if !line.starts_with('|') {
            heads.clear();
        } else if heads.is_empty() {
            heads = cells(line);
        } else if under && heads[0] == column && !line.starts_with("|---") {
            terms.extend(of_row(group, page, &heads, &cells(line)));
        }
    }
    terms
}

/// The terms of a row: one for each word in its first cell.
fn of_row(group: &'static str, page: &'static str, heads: &[String], row: &[String]) -> Vec<Term> {
    let Some((first, others)) = row.split_first() else {
        return Vec::new();
    };
    let described = heads.iter().skip(1).zip(others);
    let mut texts: Vec<(String, String)> = described
        .filter(|(_, text)| !text.is_empty())
        .map(|(head, text)| (head.clone(), without_links(text)))
        .collect();
    if let [(head, _)] = &mut texts[..] {
        head.clear();
    }
    let names: Vec<&str> = match first.contains('`') {
        true => first.split('`').skip(1).step_by(2).collect(),
        false => vec![first],
    };
    let term = |name: &&str| Term {
        name: name.split(':').next().unwrap_or(name).to_owned(),
        group,
        page,
        texts: texts.clone(),
    };
    names.iter().map(term).collect()
}

/// The cells of a line of a table. A bar in a cell is escaped.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_matches('|').replace("\\|", "\u{1}");
    let cells = line
        .split('|')
        .map(|cell| cell.trim().replace('\u{1}', "|"));
    cells.collect()
}

/// The words that paragraphs define in bold, each with its sentences.
fn of_sentences(page: &'static str, text: &str) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    for paragraph in text.split("\n\n") {
        let first = paragraph.chars().next();
        if first.is_none_or(|c| "|#`-0123456789".contains(c)) {
            continue;
        }
        let paragraph = without_links(&paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
        let mut here = 0;
        for sentence in paragraph.split_inclusive(". ") {
            let words: Vec<&str> = sentence.split("**").skip(1).step_by(2).collect();
            let sentence = sentence.replace("**", "");
            if words.is_empty() {
                for term in terms.iter_mut().rev().take(here) {
                    term.texts[0].1 += &sentence;
                }
            } else {
                here = words.len();
            }
            terms.extend(words.into_iter().map(|word| Term {
                name: word.to_owned(),
                group: WORDS,
                page,
                texts: vec![(String::new(), sentence.clone())],
            }));
        }
    }
    terms
}

/// A text in which each link is its words.
fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let link = after.split_once("](").and_then(|(words, tail)| {
            let (_, tail) = tail.split_once(')')?;
            Some((words, tail))
        });
        out.push_str(before);
        match link {
            Some((words, tail)) => {
                out.push_str(words);
                rest = tail;
            }
            None => {
                out.push('[');
                rest = after;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_model::names::PROPERTIES;
    use sim_model::outcome::Point;
    use sim_model::plan::Metric;
    use sim_model::protocol::OpKind;

    fn names(found: Result<Vec<&Term>, Option<&str>>) -> Vec<String> {
        match found {
            Ok(terms) => terms
                .iter()
                .map(|term| format!("{}: {}", term.group, term.name))
                .collect(),
            Err(meant) => meant.iter().map(|name| format!("{name}?")).collect(),
        }
    }

    #[test]
    fn each_property_metric_point_step_and_fault_is_explained() {
        let terms = all();
        let has = |group: &str, name: &str| {
            let found = terms
                .iter()
                .find(|term| term.group == group && term.name == name);
            let found = found.unwrap_or_else(|| panic!("no {name} in {group}"));
            assert!(
                found.texts.iter().all(|(_, text)| !text.is_empty()),
                "{found:?}"
            );
        };
        PROPERTIES.iter().for_each(|name| has("properties", name));
        let metrics = Metric::ALL.iter();
        metrics.for_each(|metric| has("metrics", metric.name()));
        Point::ALL
            .iter()
            .for_each(|point| has("points", point.name()));
        for code in ["0", "1", "2", "3", "4", "99", "130"] {
            has("exit codes", code);
        }
        let schema = sim_scenario::schema();
        let keys = |definition: &str| -> Vec<String> {
            let keys = schema["$defs"][definition]["properties"].as_object();
            keys.unwrap_or_else(|| panic!("{definition}"))
                .keys()
                .cloned()
                .collect()
        };
        for key in keys("Fault") {
            let kinds = ["faults", "keys of a fault"];
            let within = |term: &Term| {
                let options = key == "down_for" || key == "lose_unsynced";
                options || (kinds.contains(&term.group) && term.name == key)
            };
            assert!(terms.iter().any(within), "{key}");
        }
        for kind in OpKind::ALL.iter().filter(|kind| kind.plain().is_some()) {
            has("steps", kind.verb());
        }
        for (group, ..) in PAGES.iter().flat_map(|page| page.2) {
            assert!(terms.iter().any(|term| term.group == *group), "no {group}");
        }
    }

    #[test]
    fn a_word_is_found_by_its_name_its_parts_or_its_texts() {
        let terms = all();
        let found = |word: &str| names(find(&terms, word)).join(", ");
        assert_eq!(found("jain"), "figures: jain");
        assert_eq!(found("exit 99"), "exit codes: 99");
        assert_eq!(found("Stick_Wait"), "metrics: stick_wait");
        assert_eq!(found("crash"), "points: crash, faults: crash");
        assert!(
            found("stuck").contains("words: stuck"),
            "{}",
            found("stuck")
        );
        assert_eq!(
            found("lease"),
            "points: lease_ended, keys of server: stick_lease"
        );
        assert_eq!(found("bypassed"), "figures: overtaken");
        assert_eq!(found("stick_orderr"), "stick_order?");
        assert_eq!(found("xylophone"), "");
    }

    #[test]
    fn a_term_is_written_without_marks_of_links() {
        let terms = all();
        assert!(terms.len() > 200, "{}", terms.len());
        for (_, text) in terms.iter().flat_map(|term| &term.texts) {
            assert!(!text.contains("](") && !text.contains("**"), "{text}");
        }
        assert_eq!(
            without_links("see [the list](x.md#y), [a] and more"),
            "see the list, [a] and more"
        );
    }
}

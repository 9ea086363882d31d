//! The notation of a step: a verb alone, or a verb with a value.

use super::closest::did_you_mean;
use super::error::{Problem, Read};
use super::fields::Fields;
use super::node::{Node, Place, Value, shortened};
use sim_model::protocol::{OpKind, Plain};

/// The verbs that do not call the server.
pub(super) const OTHERS: [&str; 5] = ["await", "think", "loop", "choose", "disconnect"];
/// The verbs that require a value.
pub(super) const WITH_VALUE: [&str; 6] = ["send", "append", "await", "think", "loop", "choose"];

/// The verbs that call the server: all but `check_stress_status`, which is written as a `break`.
pub(super) fn calls() -> impl Iterator<Item = &'static str> {
    let kinds = OpKind::ALL.iter().filter(|kind| **kind != OpKind::Mood);
    kinds.map(|kind| kind.verb())
}

/// The kind of a verb that never takes a value.
pub(super) fn plain(verb: &str) -> Option<Plain> {
    let mut plain = OpKind::ALL.iter().filter_map(|kind| kind.plain());
    plain.find(|plain| plain.kind().verb() == verb)
}

/// A verb, with its value if it has one.
pub(super) struct Written<'n> {
    /// The verb: one of `calls` or `OTHERS`.
    pub(super) verb: &'static str,
    /// The place of the verb.
    pub(super) place: Place,
    value: Option<&'n Node>,
}

impl<'n> Written<'n> {
    /// Reads a bare word, or a map of one key.
    pub(super) fn read(node: &'n Node) -> Read<Self> {
        let wrong = || {
            Problem::new(
                node.place,
                format!("expected a step, found {}", node.described()),
                verbs(),
            )
        };
        let (place, verb, value) = if let Value::Text(verb) = &node.value {
            (node.place, verb.as_str(), None)
        } else {
            let Value::Map(entries) = &node.value else {
                return Err(wrong());
            };
            match entries.as_slice() {
                [entry] => (entry.place, entry.key.as_str(), Some(&entry.node)),
                [first, second, ..] => return Err(several_keys(&first.key, second.place)),
                [] => return Err(wrong()),
            }
        };
        let known = calls().chain(OTHERS).find(|known| *known == verb);
        Ok(Self {
            verb: known.ok_or_else(|| unknown_verb(place, verb))?,
            place,
            value: value.filter(|node| !matches!(node.value, Value::Empty)),
        })
    }

    /// The required value; `example` shows its form.
    pub(super) fn need(&self, example: &str) -> Read<&'n Node> {
        self.value.ok_or_else(|| {
            Problem::new(
                self.place,
                format!("`{}` needs a value", self.verb),
                format!("write for example `{}: {example}`", self.verb),
            )
        })
    }

    /// The value as a map of these keys, if it is present.
    pub(super) fn fields(
        &self,
        what: &'static str,
        keys: &'static [&'static str],
    ) -> Read<Option<Fields<'n>>> {
        self.value
            .map(|node| Fields::read(node, what, keys))
            .transpose()
    }

    /// Refuses a value.
    pub(super) fn take_nothing(&self) -> Read<()> {
        match self.value {
            None => Ok(()),
            Some(node) => Err(Problem::new(
                node.place,
                format!("`{}` takes nothing, found {}", self.verb, node.described()),
                format!("write `- {}` alone", self.verb),
            )),
        }
    }
}

/// The accepted steps.
pub(super) fn verbs() -> String {
    let all: Vec<&str> = calls().chain(OTHERS).collect();
    format!("accepted steps: {}", all.join(", "))
}

/// The error about an unknown verb.
pub(super) fn unknown_verb(place: Place, verb: &str) -> Box<Problem> {
    let known: Vec<&str> = calls().chain(OTHERS).collect();
    Problem::new(
        place,
        format!("unknown verb `{}`", shortened(verb)),
        verbs(),
    )
    .labelled(format!("not a verb{}", did_you_mean(verb, &known)))
}

fn several_keys(first: &str, place: Place) -> Box<Problem> {
    Problem::new(
        place,
        "a step is one verb, and here is a second key",
        format!(
            "what belongs to `{}` stands below it, indented further; another verb after a dash of its own",
            shortened(first)
        ),
    )
}

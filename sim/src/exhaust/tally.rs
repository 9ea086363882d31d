//! How often each property was judged, over all paths.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Counterexample;
use crate::result::{Class, PropertyResult};
use sim_judge::Judgement;

/// Each property by name. A path's checks count once for each state at which it was judged, which
/// is what its prefixes were judged at too.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Tally(BTreeMap<&'static str, PropertyResult>);

impl Tally {
    pub(super) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Each property, and what came of it.
    pub fn properties(&self) -> impl Iterator<Item = (&'static str, &PropertyResult)> {
        self.0.iter().map(|(name, result)| (*name, result))
    }

    /// A path was judged.
    pub(super) fn add(&mut self, judgement: &Judgement) {
        // A path has no thresholds.
        let judged = judgement.properties.iter();
        for (name, result) in judged.filter(|(_, result)| result.class != Class::Threshold) {
            self.add_one(name, result);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (name, result) in &other.0 {
            self.add_one(name, result);
        }
    }

    /// A path was found broken.
    pub(super) fn broken(&mut self, found: &Counterexample) {
        for (name, result) in &mut self.0 {
            if found.violations.iter().any(|one| one.property == *name) {
                result.held = Some(false);
            }
        }
    }

    fn add_one(&mut self, name: &'static str, result: &PropertyResult) {
        let known = self.0.entry(name).or_insert(PropertyResult {
            held: None,
            checks: 0,
            unjudged: 0,
            class: Class::Safety,
        });
        known.checks += result.checks;
        known.held = match (known.held, result.held) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), _) | (_, Some(true)) => Some(true),
            (None, None) => None,
        };
    }
}

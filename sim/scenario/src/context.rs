//! What the parts of a scenario know of one another.

use std::sync::Arc;

use chat_types::{Config, Span};
use sim_model::draw::{Quantiles, Shape};
use sim_model::plan::{ScriptUser, ServersNeeded};

use super::error::{Place, Read};

/// The context of a part of a scenario: the values of earlier keys, which are read in the order of
/// their declaration. `None` is a value that has mistakes: what depends on it is not checked, so that
/// no mistake is reported that only follows from another.
#[derive(Debug, Default)]
pub(crate) struct Context {
    /// The configuration of the server, which limits steps and which faults change.
    pub(crate) server: Option<Config>,
    /// The users of the steps form; empty in the phases form.
    pub(crate) users: Option<Vec<ScriptUser>>,
    /// The names of the personas; empty in the steps form.
    pub(crate) personas: Option<Vec<String>>,
    /// The tables of the distributions so far; equal distributions share one.
    pub(crate) tables: Vec<Arc<Quantiles>>,
    /// The number of phases so far, as written.
    pub(crate) phases: u32,
    /// The number of users that the phases bring whatever chance decides, and whether these are all.
    pub(crate) arrivals: Option<(u64, bool)>,
    /// The duration of the scenario, if the file has it.
    pub(crate) duration: Option<Span>,
    /// The place of each phase, step and fault, and its end from the start.
    pub(crate) ends: Vec<(Place, Span)>,
    /// The faults that need one server, or several.
    pub(crate) servers_needed: Vec<(Place, ServersNeeded)>,
    /// The place of each fault that repeats, and the usual time between two starts.
    pub(crate) repeated: Vec<(Place, Span)>,
    /// The nesting depth of loops and choices.
    pub(crate) depth: usize,
}

/// The most different lognormal and exponential distributions of one scenario: each needs a computed
/// table.
const MAX_TABLES: usize = 1_000;

impl Context {
    /// The table of the distribution at this place.
    pub(crate) fn table(&mut self, place: Place, shape: Shape) -> Read<Arc<Quantiles>> {
        if matches!(shape, Shape::Fixed(_) | Shape::Uniform(..)) {
            return Ok(Arc::new(Quantiles::new(shape)));
        }
        if let Some(table) = self.tables.iter().find(|table| table.shape() == shape) {
            return Ok(Arc::clone(table));
        }
        if self.tables.len() == MAX_TABLES {
            return place.refuse(
                "too many different distributions",
                format!(
                    "at most {MAX_TABLES} different {{ p50, p99 }} and {{ mean }} in one scenario"
                ),
            );
        }
        let table = Arc::new(Quantiles::new(shape));
        self.tables.push(Arc::clone(&table));
        Ok(table)
    }
}

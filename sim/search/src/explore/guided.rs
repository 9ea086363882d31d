//! Guided exploring: families of runs that split at new states.
//!
//! Coverage is a bitmap of facets of the chat's state (`world::abstraction`), with a class for how
//! often one run enters each. A family is a run with branches at new or rare states (`family`). A
//! run that enters something new is kept as a recipe in the corpus (`corpus`). Half of the families
//! start from the corpus, with more energy for recipes that found more, and the others from fresh
//! seeds.
//!
//! Families run in rounds. A round is planned before it starts, and its families see the bitmap of
//! that time, so that findings do not depend on the number of threads. The exploration ends when
//! nothing new is entered for [`FLAT`](sim_model::outcome::FLAT) families.

mod corpus;
mod coverage_map;
mod family;

pub use corpus::{Corpus, Entry};
pub(super) use coverage_map::CoverageMap;
pub(super) use family::{Family, explore as family};

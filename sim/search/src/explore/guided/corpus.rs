//! The corpus: recipes of runs that entered something new, and the bitmap of all facets entered.
//! Each recipe is a small file, and the bitmap another, so that an exploration can be resumed, and
//! corpora can be merged by copying files.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use chat_types::mix_bytes;
use serde::{Deserialize, Serialize};

use sim_model::outcome::{ExplorationCoverage, FLAT, Trial};

use super::coverage_map::CoverageMap;
use super::family::NewFacets;
use crate::explore::ExploreOptions;
use sim_model::recipe::Recipe;

/// The number of families in a round.
const ROUND: u64 = 32;

/// The largest number of recipes. The least productive are dropped first.
const HELD: usize = 4_096;

/// The file of the bitmap.
const COVERAGE: &str = "coverage.txt";

/// The version of the abstraction. A bitmap of another version is ignored.
const VERSION: &str = "abstraction 2";

/// A run that entered something new.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The scenario's name.
    pub scenario: String,
    /// Its seed.
    pub seed: u64,
    /// Its turns.
    pub recipe: String,
    /// The number of classes of facets that it, or a family from it, entered first.
    pub found: u32,
    /// The number of families that started from it.
    pub begun: u32,
}

impl Entry {
    /// Its identity, which names its file.
    fn id(&self) -> u64 {
        let name = format!("{}\n{}", self.scenario, self.recipe);
        mix_bytes(self.seed, name.as_bytes())
    }

    /// The expected yield of another family from it.
    fn expected_worth(&self) -> u64 {
        u64::from(self.found) * 64 / (u64::from(self.begun) + 1)
    }
}

/// The interesting runs so far, and the coverage.
#[derive(Clone, Debug, Default)]
pub struct Corpus {
    pub(in crate::explore) coverage: CoverageMap,
    entries: BTreeMap<u64, Entry>,
    /// The number of consecutive families without anything new in this session.
    idle: u64,
}

impl Corpus {
    /// Whether nothing new was entered for long.
    pub(in crate::explore) const fn is_flat(&self) -> bool {
        self.idle >= FLAT
    }

    /// Runs that entered something new.
    #[must_use]
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &Entry> {
        self.entries.values()
    }

    /// The coverage in all sessions.
    #[must_use]
    pub fn covered(&self) -> ExplorationCoverage {
        ExplorationCoverage {
            families: self.coverage.all_families.into(),
            facets: self.coverage.entered().len(),
            recipes: self.entries.len(),
            flat: self.is_flat(),
        }
    }

    /// The next families, at most `left`: those with even numbers start from fresh seeds, the others
    /// from the corpus.
    pub(in crate::explore) fn round(&mut self, what: &ExploreOptions<'_>, left: u64) -> Vec<Trial> {
        let first = u64::from(self.coverage.all_families);
        let numbers = first..first + left.min(ROUND);
        numbers
            .map(|index| {
                let again = (index % 2 == 1).then(|| self.again(what, index)).flatten();
                again.unwrap_or_else(|| what.fresh(index))
            })
            .collect()
    }

    /// A family from the entry with the highest expected yield.
    fn again(&mut self, what: &ExploreOptions<'_>, index: u64) -> Option<Trial> {
        let expected_worths = self.entries.iter().filter_map(|(id, entry)| {
            let mut plans = what.plans.iter();
            let scenario = plans.position(|plan| plan.name == entry.scenario)?;
            Some((entry.expected_worth(), std::cmp::Reverse(*id), scenario))
        });
        let (_, std::cmp::Reverse(id), scenario) = expected_worths.max()?;
        let entry = self.entries.get_mut(&id)?;
        entry.begun += 1;
        Some(Trial {
            index,
            scenario,
            seed: entry.seed,
            recipe: entry.recipe.parse().ok()?,
        })
    }

    /// Adds the findings of a family.
    pub(in crate::explore) fn take(
        &mut self,
        trial: &Trial,
        what: &ExploreOptions<'_>,
        new_facets: Vec<NewFacets>,
        facets: &[sim_world::abstraction::Facet],
    ) {
        self.coverage.add_family(facets);
        self.idle += 1;
        let entry_of = |recipe: &Recipe, found| Entry {
            scenario: what.plans[trial.scenario].name.clone(),
            seed: trial.seed,
            recipe: recipe.to_string(),
            found,
            begun: 0,
        };
        let mut all = 0;
        for (recipe, entered) in new_facets {
            // Families of one round do not see one another's findings, so some are not new.
            let new = entered.into_iter().filter(|e| self.coverage.add(*e));
            let found = u32::try_from(new.count()).unwrap_or(u32::MAX);
            if found == 0 {
                continue;
            }
            self.idle = 0;
            all += found;
            self.keep(entry_of(&recipe, found));
        }
        if let Some(begun) = self.entries.get_mut(&entry_of(&trial.recipe, 0).id()) {
            begun.found = begun.found.saturating_add(all);
        }
    }

    fn keep(&mut self, entry: Entry) {
        if self.entries.len() >= HELD {
            let all = self.entries.iter();
            let least = all.min_by_key(|(_, entry)| entry.expected_worth());
            if let Some(least) = least.map(|(id, _)| *id) {
                self.entries.remove(&least);
            }
        }
        self.entries.entry(entry.id()).or_insert(entry);
    }

    /// Reads a corpus. A folder that does not exist is an empty corpus.
    ///
    /// # Errors
    /// A file cannot be read, or is invalid.
    pub fn load(folder: &Path) -> io::Result<Self> {
        let mut corpus = Self::default();
        if !folder.exists() {
            return Ok(corpus);
        }
        let wrong =
            |path: &Path, what: String| io::Error::other(format!("{}: {what}", path.display()));
        let files = fs::read_dir(folder)?.map(|file| Ok(file?.path()));
        let mut files = files.collect::<io::Result<Vec<_>>>()?;
        files.sort();
        for path in files {
            let name = path.file_name().unwrap_or_default();
            if name == COVERAGE {
                let text = fs::read_to_string(&path)?;
                let parts = text.split_once('\n').filter(|parts| parts.0 == VERSION);
                let read = parts.and_then(|(_, rest)| CoverageMap::from_text(rest));
                corpus.coverage =
                    read.ok_or_else(|| wrong(&path, format!("not a bitmap of {VERSION}")))?;
            } else if path.extension().is_some_and(|end| end == "json") {
                let text = fs::read_to_string(&path)?;
                let entry: Entry = serde_json::from_str(&text)
                    .map_err(|problem| wrong(&path, problem.to_string()))?;
                corpus.entries.insert(entry.id(), entry);
            }
        }
        Ok(corpus)
    }

    /// Writes new entries and the bitmap.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn save(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        for (id, entry) in &self.entries {
            let text = serde_json::to_string_pretty(entry)?;
            fs::write(folder.join(format!("{id:016x}.json")), text + "\n")?;
        }
        let text = format!("{VERSION}\n{}", self.coverage.to_text());
        // Renamed, so that the bitmap is complete whenever writing is interrupted.
        let whole = folder.join("coverage.new");
        fs::write(&whole, text)?;
        fs::rename(whole, folder.join(COVERAGE))
    }
}

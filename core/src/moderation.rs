//! What participants reported and operators decided.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use chat_types::Time;
use serde::{Deserialize, Serialize};

use crate::id::{Address, UserId};

/// Reports and bans.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Moderation {
    pub(crate) reports: VecDeque<Report>,
    /// By folded name.
    pub(crate) names: BTreeMap<Box<str>, Ban>,
    pub(crate) addresses: BTreeMap<Address, Ban>,
}

/// Somebody was reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// When.
    pub at: Time,
    /// By whom.
    pub by: UserId,
    /// Who.
    pub about: UserId,
    /// Why.
    pub reason: Arc<str>,
}

/// Somebody, or some place, is barred.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ban {
    /// Since when.
    pub at: Time,
    /// By which operator.
    pub by: Arc<str>,
    /// Why.
    pub reason: Arc<str>,
}

impl Moderation {
    pub(crate) fn report(&mut self, report: Report, limit: usize) {
        while self.reports.len() >= limit {
            self.reports.pop_front();
        }
        self.reports.push_back(report);
    }

    pub(crate) fn bans(&self) -> usize {
        self.names.len() + self.addresses.len()
    }
}

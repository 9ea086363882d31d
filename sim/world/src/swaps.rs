//! Swaps of the Hub for its restored snapshot, which must change nothing, and the sizes of its
//! collections.

use sim_model::history::WorldRecord;
use sim_model::listing::Listed;
use sim_model::outcome::Point;
use sim_model::plan::{Plan, Workload};

use super::World;
use crate::translate;

/// The number of steps between two swaps in a short script, which ends before the thousandth step.
/// An incomplete snapshot should show in a scenario that a person can read.
const SHORT_SWAP_STEPS: u64 = 16;

/// The largest number of steps between two swaps of a small Hub. It is smaller for plans with more
/// frequent snapshots.
pub(super) fn swap_every(plan: &Plan) -> u64 {
    match &plan.workload {
        Workload::Steps { .. } => SHORT_SWAP_STEPS,
        Workload::Phases { .. } => {
            let snapshots = u64::from(plan.capacity.snapshot_every).saturating_mul(STEPS_OF_ENTRY);
            snapshots.clamp(SHORT_SWAP_STEPS, SWAP_STEPS)
        }
    }
}

/// The approximate number of steps for each entry of the journal.
const STEPS_OF_ENTRY: u64 = 5;

/// In a short script, a swap costs one step for this many bytes of the snapshot. So swaps of a
/// large state, each as expensive as many steps, do not use up the time for shrinking.
const SWAP_BYTES: u64 = 32;

/// The average number of steps between two swaps of the Hub, at least.
const SWAP_STEPS: u64 = 20_000;

impl World<'_, '_> {
    /// Swaps the Hub for its restored snapshot, so that an incomplete snapshot shows soon. Larger
    /// states are swapped less often, so that a growing state does not slow down the run.
    ///
    /// # Panics
    /// If the state breaks an invariant, or differs after the restore. Both are bugs, which the
    /// runner reports as violations.
    pub(super) fn swap(&mut self) {
        self.report_sizes(None);
        let mut gap = self.swap_every;
        if let Some(node) = self.server.node_mut() {
            if let Err(broken) = node.hub().validate_state() {
                panic!("broken invariant: {broken}");
            }
            let size = node.swap_for_restored() as u64;
            gap = gap.max(match gap {
                SWAP_STEPS => size,
                _ => size / SWAP_BYTES,
            });
            self.server.collect_posted();
            self.observers.reach(Point::Swapped);
        }
        self.next_swap = self.steps + gap / 2 + self.swaps.below(gap);
    }

    /// Reports the size of every collection, and the lists of operators, to the judges.
    pub(super) fn report_collections(&mut self) {
        let archived = self.server.tells_posted;
        let node = self.server.node();
        let lists = node.map(|node| translate::lists(node.hub(), archived));
        self.report_sizes(lists.as_deref());
    }

    /// Reports the size of every collection, and these lists, to the judges.
    fn report_sizes(&mut self, lists: Option<&[Listed]>) {
        let Some(node) = self.server.node() else {
            return;
        };
        let sizes = node.sizes();
        let sizes: Vec<_> = sizes.iter().map(|s| (s.name, s.size, s.limit)).collect();
        let (sizes, archived) = (&sizes, self.server.tells_posted);
        self.tell_world(&WorldRecord::Sizes {
            sizes,
            lists,
            archived,
        });
    }
}

//! How often each fault was made, and how long it took to heal.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::cluster::fault::Fault;

/// The times until everybody was served again, of each kind.
#[derive(Default)]
pub(crate) struct Tally(BTreeMap<Fault, Vec<Duration>>);

impl Tally {
    pub(crate) fn add(&mut self, fault: Fault, healed: Duration) {
        self.0.entry(fault).or_default().push(healed);
    }

    /// A table: a line for each kind.
    pub(crate) fn table(&self) -> String {
        let mut text = format!(
            "{:30} {:>5} {:>7} {:>7} {:>7} {:>7}\n",
            "fault", "times", "least", "p50", "p90", "most"
        );
        for (fault, times) in &self.0 {
            let mut times = times.clone();
            times.sort_unstable();
            let quantile = |tenths: usize| {
                let seconds = times[(times.len() * tenths).div_ceil(10).max(1) - 1].as_secs_f64();
                format!("{seconds:.2}s")
            };
            text += &format!(
                "{fault:30} {:>5} {:>7} {:>7} {:>7} {:>7}\n",
                times.len(),
                quantile(0),
                quantile(5),
                quantile(9),
                quantile(10)
            );
        }
        text
    }
}

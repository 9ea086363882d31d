//! The baseline: the accepted counts, and the machine on which they were made.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::counting::Machine;

/// Its path from the root.
const FILE: &str = "benches/baseline.json";

/// Instructions by name, and the machine that counted them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Baseline {
    pub(crate) machine: Machine,
    pub(crate) counts: BTreeMap<String, u64>,
}

impl Baseline {
    /// Reads the committed baseline.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let text =
            fs::read_to_string(root.join(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
        Self::parse(&text).map_err(|why| format!("{FILE}: {why}"))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let all: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let made_with = |key: &str| {
            let value = all["made_with"][key].as_str();
            value
                .map(str::to_owned)
                .ok_or(format!("no made_with.{key}"))
        };
        let machine = Machine {
            rustc: made_with("rustc")?,
            target: made_with("target")?,
            valgrind: made_with("valgrind")?,
            libc: made_with("libc")?,
            cpu: made_with("cpu")?,
        };
        let counts = all["instructions"].as_object().ok_or("no instructions")?;
        let count = |(name, count): (&String, &Value)| {
            let count = count.as_u64().ok_or(format!("{name} is no count"))?;
            Ok((name.clone(), count))
        };
        let counts = counts.iter().map(count).collect::<Result<_, String>>()?;
        Ok(Self { machine, counts })
    }

    /// Writes this baseline.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn write(&self, root: &Path) -> Result<(), String> {
        fs::write(root.join(FILE), self.text()).map_err(|error| format!("{FILE}: {error}"))
    }

    fn text(&self) -> String {
        let Machine {
            rustc,
            target,
            valgrind,
            libc,
            cpu,
        } = &self.machine;
        let counts: Map<String, Value> = (self.counts.iter())
            .map(|(name, count)| (name.clone(), json!(count)))
            .collect();
        let all = json!({
            "made_with": {
                "rustc": rustc, "target": target, "valgrind": valgrind, "libc": libc, "cpu": cpu,
            },
            "instructions": counts,
        });
        format!("{all:#}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::{Baseline, Machine};

    #[test]
    fn a_baseline_reads_back_as_written() {
        let of = |text: &str| text.to_owned();
        let baseline = Baseline {
            machine: Machine {
                rustc: of("1.95.0"),
                target: of("x86_64-unknown-linux-gnu"),
                valgrind: of("3.19.0"),
                libc: of("glibc 2.36"),
                cpu: of("avx2 bmi2"),
            },
            counts: [(of("world"), 12), (of("command/send_message"), 34)].into(),
        };
        assert_eq!(Baseline::parse(&baseline.text()), Ok(baseline));
    }

    #[test]
    fn errors_of_a_malformed_baseline_name_what_is_missing() {
        let error = |text| Baseline::parse(text).expect_err(text);
        assert_eq!(error("{}"), "no made_with.rustc");
        assert!(error("").contains("EOF"));
    }
}

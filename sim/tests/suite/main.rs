//! The simulator from outside: runs against live servers, reports, and many runs. All tests are one
//! program, which is linked once.

mod live;
mod report;
mod runs;

use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use sim::commands::Console;
use sim_model::outcome::Interrupt;
use sim_report::Paint;
use sim_search::runner::RunSeed;

/// A folder in which the program runs.
struct Folder(tempfile::TempDir);

/// What the program did.
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("there is room"))
    }

    /// A folder with this scenario as `a.yaml`.
    fn with(scenario: &str) -> Self {
        let folder = Self::new();
        folder.write("a.yaml", scenario);
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("there is room");
    }

    /// Runs the program with these arguments, words between spaces. Files that are not requested are
    /// written into the folder.
    fn sim(&self, line: &str) -> Ran {
        self.run(Command::new(env!("CARGO_BIN_EXE_sim")).args(line.split_whitespace()))
    }

    fn run(&self, command: &mut Command) -> Ran {
        let ran = command.current_dir(self.0.path()).output();
        let ran = ran.expect("it starts");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Ran {
            code: ran.status.code(),
            out: text(ran.stdout),
            err: text(ran.stderr),
        }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect(name)
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).expect("JSON")
    }

    /// A file of JSON, line by line.
    fn lines(&self, name: &str) -> Vec<Value> {
        let text = self.read(name);
        let lines = text.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().expect("JSON")
    }
}

impl Ran {
    /// All that it said.
    fn told(&self) -> String {
        format!("{}{}", self.out, self.err)
    }

    /// The result on its standard output.
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.told()))
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

/// A field of each item of a list.
fn each<'v>(items: &'v Value, key: &str) -> Vec<&'v Value> {
    list(items).iter().map(|item| &item[key]).collect()
}

/// Whether an item of a list has this in a field.
fn has(items: &Value, key: &str, value: &str) -> bool {
    each(items, key).into_iter().any(|one| one == value)
}

/// A shipped scenario.
fn shipped_file(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    folder.join(format!("{name}.yaml"))
}

/// The shipped scenarios in this folder of them.
fn shipped_files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../scenarios")
        .join(folder);
    let files = fs::read_dir(folder).expect("scenarios are shipped");
    let mut files: Vec<PathBuf> = files.map(|entry| entry.expect("a file").path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "yaml"));
    files.sort();
    files
}

/// A console without colour, whose clock stands still: nothing in it depends on the machine.
fn console<'a>(
    run: RunSeed<'a>,
    (out, err): (&'a mut dyn Write, &'a mut dyn Write),
    interrupt: &'a Interrupt,
    unasked: &'a Path,
) -> Console<'a> {
    Console {
        run,
        also_judge: &|_, _| {},
        out,
        unwritten: None,
        err,
        paint: Paint::Plain,
        error_paint: Paint::Plain,
        error_columns: 80,
        live: Box::leak(Box::new(|_: Option<&str>| {})),
        started: SystemTime::UNIX_EPOCH,
        clock: &|| Duration::ZERO,
        interrupt,
        cores: NonZeroUsize::MIN,
        unasked,
    }
}

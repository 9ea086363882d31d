//! The packages that are published, made from the workspace under their published names.
//!
//! In the workspace the programs' packages are called `server` and `sim`, as people type them; the
//! registry has the names `talking-stick` and `talking-stick-sim`, and those of the parts begin with
//! them. The copy below `target/` differs in its manifests alone.

mod manifest;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{Cargo, ended};
use crate::outcome::Outcome;

use manifest::{PARTS, published};

/// The copy of the workspace, and the unpacked packages.
const STAGE: &str = "target/xtask/package/workspace";
const UNPACKED: &str = "target/xtask/package/unpacked";

/// The files at the root that the copy needs.
const SHARED: [&str; 3] = ["Cargo.toml", "Cargo.lock", "README.md"];

/// The pages of the book that the simulator explains terms by, and their folder in its package.
const PAGES: [&str; 4] = [
    "running.md",
    "judge.md",
    "scenario-reference.md",
    "protocol.md",
];
const PAGES_IN: &str = "sim/docs";

/// The features that a release has, as in the workspace.
const FEATURES: &str = "talking-stick/cluster,talking-stick/postgres,talking-stick-sim/tls";

/// The packages that are not published.
const UNPUBLISHED: [&str; 3] = ["benches", "book", "xtask"];

/// The files that each package has.
const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Makes the packages, and compiles what is in them and nothing else.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    match make(cargo).and_then(|stage| compile(cargo, &stage)) {
        Ok(()) => Outcome::Passed,
        Err(why) => Outcome::Failed(why),
    }
}

/// Makes the packages below the returned folder, from which `cargo publish --workspace` publishes
/// them.
///
/// # Errors
/// What cannot be copied, or what Cargo refuses.
pub(crate) fn make(cargo: &Cargo) -> Result<PathBuf, String> {
    let stage = stage(cargo.root())?;
    let made = ["package", "--workspace", "--no-verify", "--quiet"];
    run(cargo, &stage, &made)?;
    Ok(stage)
}

/// Copies the workspace with its published names.
fn stage(root: &Path) -> Result<PathBuf, String> {
    let stage = root.join(STAGE);
    clear(&stage)?;
    for path in sources(root)? {
        let to = stage.join(&path);
        let from = root.join(&path);
        let written = match path.file_name() == Some(OsStr::new("Cargo.toml")) {
            true => read(&from).and_then(|text| write(&to, &manifest::renamed(&path, &text)?)),
            false => copy(&from, &to),
        };
        written?;
    }
    for part in PARTS {
        for name in LICENCES {
            copy(&root.join(name), &stage.join(part.folder).join(name))?;
        }
    }
    for page in PAGES {
        copy(
            &root.join("docs").join(page),
            &stage.join(PAGES_IN).join(page),
        )?;
    }
    Ok(stage)
}

/// The files of the parts, as git knows them, and the shared ones.
fn sources(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut words = vec![
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        "--",
    ];
    words.extend(SHARED);
    words.extend(PARTS.map(|part| part.folder));
    let output = Command::new("git").args(words).current_dir(root).output();
    let output = output.map_err(|error| format!("`git` did not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("`git ls-files` {}", ended(output.status)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let paths = text.lines().map(PathBuf::from);
    Ok(paths.filter(|path| root.join(path).is_file()).collect())
}

/// Unpacks the packages, and compiles them beside one another as a user's Cargo would, but with the
/// dependencies that are compiled already.
fn compile(cargo: &Cargo, stage: &Path) -> Result<(), String> {
    let unpacked = cargo.root().join(UNPACKED);
    clear(&unpacked)?;
    fs::create_dir_all(&unpacked).map_err(|error| told(&unpacked, &error))?;
    let packages = target(cargo.root()).join("package");
    let version = manifest::version(&read(&stage.join("Cargo.toml"))?)?;
    let mut members = Vec::new();
    for part in &PARTS {
        let name = format!("{}-{version}", published(part.name));
        let archive = packages.join(format!("{name}.crate"));
        let mut tar = Command::new("tar");
        // All files of an archive have one old time, by which Cargo would take them for unchanged.
        tar.arg("-xzmf").arg(&archive).current_dir(&unpacked);
        crate::programs::run(&mut tar)?;
        members.push((published(part.name), name));
    }
    let root = manifest::of_unpacked(&read(&stage.join("Cargo.toml"))?, &members);
    write(&unpacked.join("Cargo.toml"), &root)?;
    copy(&stage.join("Cargo.lock"), &unpacked.join("Cargo.lock"))?;
    for folder in PARTS.map(|part| part.folder).iter().chain(&UNPUBLISHED) {
        let manifest = read(&cargo.root().join(folder).join("Cargo.toml"))?;
        let name = folder.replace('/', "-");
        let to = unpacked.join("stand-ins").join(&name);
        write(
            &to.join("Cargo.toml"),
            &manifest::stand_in(&name, &manifest),
        )?;
        write(&to.join("src/lib.rs"), "")?;
    }
    run(
        cargo,
        &unpacked,
        &[
            "check",
            "--workspace",
            "--features",
            FEATURES,
            "--offline",
            "--quiet",
        ],
    )
}

/// Runs Cargo in a folder, with the workspace's own target.
fn run(cargo: &Cargo, folder: &Path, words: &[&str]) -> Result<(), String> {
    let mut command = cargo.command_in(folder, words);
    command.env("CARGO_TARGET_DIR", target(cargo.root()));
    crate::programs::run(&mut command).map_err(|why| format!("{}: {why}", words.join(" ")))
}

fn target(root: &Path) -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR");
    root.join(named.unwrap_or_else(|| "target".into()))
}

fn told(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

fn clear(folder: &Path) -> Result<(), String> {
    match folder.exists() {
        true => fs::remove_dir_all(folder).map_err(|error| told(folder, &error)),
        false => Ok(()),
    }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| told(path, &error))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    within(path)?;
    fs::write(path, text).map_err(|error| told(path, &error))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    within(to)?;
    fs::copy(from, to)
        .map(drop)
        .map_err(|error| told(from, &error))
}

fn within(path: &Path) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|error| told(folder, &error))
}

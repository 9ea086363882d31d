//! The packages that are published, made from the workspace under their published names.
//!
//! In the workspace the programs' packages are called `server` and `sim`, as people type them; the
//! registry has the names `talking-stick` and `talking-stick-sim`, and those of the parts begin with
//! them. The copy below `target/` differs in its manifests alone.

mod manifest;

use std::path::{Path, PathBuf};

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::cargo;
use crate::workspace_copy::sources;

use manifest::{PARTS, published};

/// The copy of the workspace, and the unpacked packages.
const STAGE: &str = "package/workspace";
const UNPACKED: &str = "package/unpacked";

/// The files at the root that the copy needs.
const SHARED: [&str; 3] = ["Cargo.toml", "Cargo.lock", "README.md"];

/// The pages of the book that the simulator explains terms by, and their folder in its package.
const PAGES: [&str; 3] = ["running.md", "scenario-reference.md", "protocol.md"];
const PAGES_IN: &str = "sim/docs";

/// The features that a release has, as in the workspace.
const FEATURES: &str = "talking-stick/cluster,talking-stick/postgres,talking-stick-sim/tls";

/// The packages that are not published.
const UNPUBLISHED: [&str; 3] = ["benches", "docs/check", "xtask"];

/// The files that each package has.
const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Makes the packages, and compiles what is in them and nothing else.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    let stage = make(sh)?;
    compile(sh, &stage)
}

/// Makes the packages below the returned folder, from which `cargo publish --workspace` publishes
/// them.
///
/// # Errors
/// What cannot be copied, or what Cargo refuses.
pub(crate) fn make(sh: &Shell) -> Result<PathBuf> {
    let stage = stage(sh)?;
    let _within = sh.push_dir(&stage);
    cmd!(sh, "cargo package --workspace --no-verify --quiet")
        .env("CARGO_TARGET_DIR", cargo::target(sh))
        .run()?;
    Ok(stage)
}

/// Copies the workspace with its published names.
fn stage(sh: &Shell) -> Result<PathBuf> {
    let stage = cargo::empty_scratch(sh, STAGE)?;
    let folders = PARTS.map(|part| part.folder);
    for path in sources(sh, &[&SHARED[..], &folders].concat())? {
        match path.strip_suffix("Cargo.toml") {
            Some(folder) => {
                let manifest =
                    manifest::renamed(folder.trim_end_matches('/'), &sh.read_file(&path)?)?;
                sh.write_file(stage.join(&path), manifest)?;
            }
            None => {
                let to = stage.join(&path);
                sh.create_dir(to.parent().unwrap_or(&stage))?;
                sh.copy_file(path, to)?;
            }
        }
    }
    for (folder, name) in folders
        .iter()
        .flat_map(|folder| LICENCES.map(|name| (folder, name)))
    {
        sh.copy_file(name, stage.join(folder))?;
    }
    let pages = sh.create_dir(stage.join(PAGES_IN))?;
    for page in PAGES {
        sh.copy_file(format!("docs/{page}"), &pages)?;
    }
    Ok(stage)
}

/// Unpacks the packages, and compiles them beside one another as a user's Cargo would, but with the
/// dependencies that are compiled already.
fn compile(sh: &Shell, stage: &Path) -> Result<()> {
    let unpacked = cargo::empty_scratch(sh, UNPACKED)?;
    let target = cargo::target(sh);
    let workspace = sh.read_file(stage.join("Cargo.toml"))?;
    let version = manifest::version(&workspace)?;
    for folder in PARTS.map(|part| part.folder).iter().chain(&UNPUBLISHED) {
        let name = folder.replace('/', "-");
        let stand_in = manifest::stand_in(&name, &sh.read_file(format!("{folder}/Cargo.toml"))?);
        let to = unpacked.join("stand-ins").join(&name);
        sh.write_file(to.join("Cargo.toml"), stand_in)?;
        sh.write_file(to.join("src/lib.rs"), "")?;
    }
    sh.copy_file(stage.join("Cargo.lock"), &unpacked)?;
    let _within = sh.push_dir(&unpacked);
    let mut members = Vec::new();
    for part in &PARTS {
        let name = format!("{}-{version}", published(part.name));
        let archive = target.join("package").join(format!("{name}.crate"));
        // All files of an archive have one old time, by which Cargo would take them for unchanged.
        cmd!(sh, "tar -xzmf {archive}").run()?;
        members.push((published(part.name), name));
    }
    sh.write_file("Cargo.toml", manifest::of_unpacked(&workspace, &members))?;
    cmd!(
        sh,
        "cargo check --workspace --features {FEATURES} --offline --quiet"
    )
    .env("CARGO_TARGET_DIR", &target)
    .run()?;
    Ok(())
}

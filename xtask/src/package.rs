//! The packages that are published, made from the workspace under their published names.
//!
//! In the workspace the programs' packages are called `server` and `sim`, as people type them; the
//! registry has the names `talking-stick` and `talking-stick-sim`, and those of the parts begin with
//! them. The copy below `target/` differs in its manifests alone.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use xshell::{Shell, cmd};

use crate::cargo;
use crate::workspace_copy::sources;

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
    let folders = PARTS.map(|(_, folder)| folder);
    for path in sources(sh, &[&SHARED[..], &folders].concat())? {
        let to = stage.join(&path);
        if let Some(folder) = path.strip_suffix("Cargo.toml") {
            let folder = folder.trim_end_matches('/');
            sh.write_file(to, renamed(folder, &sh.read_file(&path)?)?)?;
        } else {
            sh.create_dir(to.parent().unwrap_or(&stage))?;
            sh.copy_file(path, to)?;
        }
    }
    for folder in folders {
        for name in LICENCES {
            sh.copy_file(name, stage.join(folder))?;
        }
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
    let version = version(&workspace)?;
    for folder in PARTS.map(|(_, folder)| folder).iter().chain(&UNPUBLISHED) {
        let name = folder.replace('/', "-");
        let stand_in = stand_in(&name, &sh.read_file(format!("{folder}/Cargo.toml"))?);
        let to = unpacked.join("stand-ins").join(&name);
        sh.write_file(to.join("Cargo.toml"), stand_in)?;
        sh.write_file(to.join("src/lib.rs"), "")?;
    }
    sh.copy_file(stage.join("Cargo.lock"), &unpacked)?;
    let _within = sh.push_dir(&unpacked);
    let mut members = Vec::new();
    for (name, _) in PARTS {
        let package = published(name);
        let name = format!("{package}-{version}");
        let archive = target.join("package").join(format!("{name}.crate"));
        // All files of an archive have one old time, by which Cargo would take them for unchanged.
        cmd!(sh, "tar -xzmf {archive}").run()?;
        members.push((package, name));
    }
    sh.write_file("Cargo.toml", of_unpacked(&workspace, &members))?;
    Ok(cmd!(
        sh,
        "cargo check --workspace --features {FEATURES} --offline --quiet"
    )
    .env("CARGO_TARGET_DIR", &target)
    .run()?)
}

/// The published packages: the name in the workspace, and the folder.
const PARTS: [(&str, &str); 18] = [
    ("chat-types", "core/types"),
    ("chat-core", "core"),
    ("chat-journal", "core/journal"),
    ("chat-cluster", "core/cluster"),
    ("server-nats", "server/nats"),
    ("server-settings", "server/settings"),
    ("server-storage", "server/storage"),
    ("server-chat", "server/chat"),
    ("server", "server"),
    ("sim-model", "sim/model"),
    ("sim-user", "sim/user"),
    ("sim-judge", "sim/judge"),
    ("sim-scenario", "sim/scenario"),
    ("sim-report", "sim/report"),
    ("sim-world", "sim/world"),
    ("sim-live", "sim/live"),
    ("sim-search", "sim/search"),
    ("sim", "sim"),
];

/// The published name of a package.
fn published(name: &str) -> String {
    match name.strip_prefix("chat-") {
        _ if name == "server" => "talking-stick".into(),
        Some(part) => format!("talking-stick-{part}"),
        None => format!("talking-stick-{name}"),
    }
}

/// The manifest in this folder, with published names.
///
/// # Errors
/// The manifest has another form than this function expects.
fn renamed(folder: &str, text: &str) -> Result<String> {
    match PARTS.iter().find(|(_, of)| *of == folder) {
        Some((name, _)) => of_part(name, text).with_context(|| format!("{folder}/Cargo.toml")),
        None => of_root(text),
    }
}

fn replaced(text: &str, from: &str, to: &str) -> Result<String> {
    let found = text.matches(from).count();
    ensure!(
        found == 1,
        "a manifest has `{from}` {found} times and not once"
    );
    Ok(text.replace(from, to))
}

fn of_part(name: &str, text: &str) -> Result<String> {
    // The second such line of a program's manifest is that of its binary.
    let [old, new] =
        [name.to_owned(), published(name)].map(|name| format!("[package]\nname = \"{name}\"\n"));
    let text = replaced(text, &old, &new)?;
    // Code names the library as before.
    let library = name.replace('-', "_");
    let text = replaced(&text, "[lib]\n", &format!("[lib]\nname = \"{library}\"\n"))?;
    // `cargo install` reads the profile of the package alone.
    let profile = match text.contains("[[bin]]") {
        true => "\n[profile.release]\noverflow-checks = true\n",
        false => "",
    };
    Ok(text + profile)
}

fn of_root(text: &str) -> Result<String> {
    let members = PARTS.map(|(_, folder)| format!("{folder:?}")).join(", ");
    let version = version(text)?;
    let mut out = String::new();
    let mut in_profiles = false;
    for line in text.lines() {
        if line.starts_with('[') {
            in_profiles = line.starts_with("[profile.");
        }
        let key = line.split(['.', ' ']).next().unwrap_or_default();
        let part = PARTS.iter().find(|(name, _)| *name == key);
        let line = match part {
            _ if line.starts_with("members = ") => format!("members = [{members}]"),
            _ if line.starts_with("exclude = ") || line == "publish = false" => continue,
            Some(_) if in_profiles => line.replacen(key, &published(key), 1),
            Some((_, folder)) => {
                let package = published(key);
                format!(
                    "{key} = {{ path = {folder:?}, version = \"={version}\", package = {package:?} }}"
                )
            }
            None if ["book", "xtask"].contains(&key) => continue,
            None => line.into(),
        };
        let _ = writeln!(out, "{line}");
    }
    let head = "[workspace.package]\n";
    replaced(&out, head, &format!("{head}publish = true\n"))
}

/// The version of the workspace.
///
/// # Errors
/// There is none.
fn version(root: &str) -> Result<&str> {
    let mut lines = root.lines();
    let version = lines.find_map(|line| line.strip_prefix("version = "));
    let version = version.context("the workspace's manifest has no version")?;
    Ok(version.trim_matches('"'))
}

/// The manifest of a package that stands for one of the workspace: it has the dependencies of that
/// one's code and tests, and nothing else. With such packages Cargo selects the features that the
/// workspace has compiled.
fn stand_in(name: &str, of: &str) -> String {
    let mut out = format!("[package]\nname = {name:?}\nedition = \"2024\"\n\n[dependencies]\n");
    let mut known = vec!["book", "xtask"];
    known.extend(PARTS.map(|(name, _)| name));
    let mut is_kept = false;
    for line in of.lines() {
        if line.starts_with('[') {
            is_kept = ["[dependencies]", "[dev-dependencies]"].contains(&line);
        }
        let key = line.split(['.', ' ']).next().unwrap_or_default();
        if is_kept && line.contains("workspace = true") && !known.contains(&key) {
            known.push(key);
            let _ = writeln!(out, "{}", line.replace(", optional = true", ""));
        }
    }
    out
}

/// The manifest of a workspace of unpacked packages, each with its published name and its folder:
/// the profiles are those of the staged one, so that compiled dependencies are of use.
fn of_unpacked(staged: &str, members: &[(String, String)]) -> String {
    let mut folders: Vec<_> = members.iter().map(|(_, folder)| folder.as_str()).collect();
    folders.push("stand-ins/*");
    let mut out = format!("[workspace]\nresolver = \"3\"\nmembers = {folders:?}\n\n");
    out.push_str("[patch.crates-io]\n");
    for (name, folder) in members {
        let _ = writeln!(out, "{name} = {{ path = {folder:?} }}");
    }
    let mut kept = false;
    for line in staged.lines() {
        if line.starts_with('[') {
            kept = line.starts_with("[profile.dev") || line == "[workspace.dependencies]";
        }
        if kept && !line.contains("path = ") {
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_names_begin_with_that_of_the_project() {
        for (name, wanted) in [
            ("server", "talking-stick"),
            ("sim", "talking-stick-sim"),
            ("sim-judge", "talking-stick-sim-judge"),
            ("chat-core", "talking-stick-core"),
        ] {
            assert_eq!(published(name), wanted);
        }
    }

    #[test]
    fn manifests_keep_all_but_the_names() {
        let part = "[package]\nname = \"sim\"\n\n[lib]\nbench = false\n\n[[bin]]\nname = \"sim\"\n";
        let text = renamed("sim", part).expect("it is a part");
        assert_eq!(
            text,
            "[package]\nname = \"talking-stick-sim\"\n\n[lib]\nname = \"sim\"\nbench = false\n\n\
                 [[bin]]\nname = \"sim\"\n\n[profile.release]\noverflow-checks = true\n"
        );
        let root = "[workspace]\nmembers = [\"core\", \"book\"]\nexclude = [\"benches/turmoil\"]\n\
                    [workspace.package]\nversion = \"1.2.3\"\npublish = false\n\
                    [workspace.dependencies]\nbook = { path = \"book\" }\n\
                    chat-core = { path = \"core\" }\nclap = \"4\"\n\
                    [profile.dev.package]\nserver.opt-level = 0\nxtask.opt-level = 0\n";
        let text = renamed("", root).expect("it is a workspace");
        assert!(text.contains(
            "chat-core = { path = \"core\", version = \"=1.2.3\", package = \"talking-stick-core\" }"
        ));
        assert!(text.contains("talking-stick.opt-level = 0\n") && text.contains("clap = \"4\"\n"));
        assert!(text.contains("publish = true\n") && !text.contains("publish = false"));
        assert!(!text.contains("book") && !text.contains("xtask") && !text.contains("turmoil"));
        let unpacked = of_unpacked(&text, &[("a-b".into(), "a-b-1.2.3".into())]);
        assert!(
            unpacked.contains("a-b = { path = \"a-b-1.2.3\" }"),
            "{unpacked}"
        );
        assert!(unpacked.contains("[profile.dev.package]\ntalking-stick.opt-level = 0\n"));
        assert!(unpacked.contains("clap = \"4\"\n") && !unpacked.contains("chat-core = "));
    }

    #[test]
    fn a_stand_in_has_the_dependencies_of_code_and_tests_once() {
        let manifest = "[package]\nversion.workspace = true\n[dependencies]\n\
                        axum = { workspace = true, features = [\"json\"], optional = true }\n\
                        chat-core = { workspace = true }\n\
                        [dev-dependencies]\nbook.workspace = true\naxum.workspace = true\n\
                        shlex.workspace = true\n[lints]\nworkspace = true\n";
        let text = stand_in("benches", manifest);
        let (head, dependencies) = text.split_once("[dependencies]\n").expect("it has some");
        let wanted = "axum = { workspace = true, features = [\"json\"] }\nshlex.workspace = true\n";
        assert!(
            head.contains("name = \"benches\"\n") && dependencies == wanted,
            "{text}"
        );
    }

    #[test]
    fn a_manifest_of_another_form_is_told() {
        let told = |text| format!("{:#}", renamed("sim", text).expect_err("another form"));
        assert!(told("[package]\nname = \"other\"\n").contains("sim/Cargo.toml"));
        assert!(told("[package]\nname = \"sim\"\n").contains("[lib]"));
    }
}

//! The packages that are published, made from the workspace under their published names.
//!
//! In the workspace the programs' packages are called `server` and `sim`, as people type them; the
//! registry has the names `talking-stick` and `talking-stick-sim`, and those of the parts begin with
//! them. The copy below `target/` differs in its manifests alone.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use xshell::{Shell, cmd};

use crate::cargo;
use crate::workspace_copy::sources;

/// The features that a release has, as in the workspace.
const FEATURES: &str = "talking-stick/cluster,talking-stick/postgres,talking-stick-sim/tls";

/// The packages that are not published, as their manifests say, and their folders.
const UNPUBLISHED: [(&str, &str); 3] = [
    ("benches", "benches"),
    ("book", "docs/check"),
    ("xtask", "xtask"),
];

/// The version of this package, which is that of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The files that each package has.
const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// The place of a package in the copy, by its published name and its folder.
type Place = fn(&str, &str) -> String;

/// That of what is in a package. So deep, no path from there leads to a file of the workspace.
const UNPACKED: Place = |package, _| format!("packages/unpacked/{package}");

/// Makes the packages, and compiles what is in them and nothing else.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    let workspace = sh.read_file("Cargo.toml")?;
    let _within = sh.push_dir(make(sh)?);
    let target = cargo::target(sh);
    for (name, _) in parts(&workspace) {
        let package = published(name);
        let folder = sh.create_dir(UNPACKED(&package, ""))?;
        let package = target.join(format!("package/{package}-{VERSION}.crate"));
        // All files of a package have one old time, by which Cargo would take them for unchanged.
        cmd!(sh, "tar -xzmf {package} --strip-components 1 -C {folder}").run()?;
        // Cargo has written another manifest, which looks for other packages in the registry.
        sh.copy_file(folder.join("Cargo.toml.orig"), folder.join("Cargo.toml"))?;
    }
    sh.write_file("Cargo.toml", of_root(&workspace, UNPACKED)?)?;
    // There are no examples: the word selects the features that clippy has compiled.
    let all = "--workspace --lib --bins --examples --offline --quiet".split(' ');
    Ok(cmd!(sh, "cargo check {all...} --features {FEATURES}")
        .env("CARGO_TARGET_DIR", &target)
        .run()?)
}

/// Makes the packages below the returned folder, from which `cargo publish --workspace` publishes
/// them.
///
/// # Errors
/// What cannot be copied, or what Cargo refuses.
pub(crate) fn make(sh: &Shell) -> Result<PathBuf> {
    let stage = cargo::empty_scratch(sh, "package")?;
    let workspace = sh.read_file("Cargo.toml")?;
    for path in sources(sh)? {
        let to = stage.join(&path);
        sh.create_dir(to.parent().unwrap_or(&stage))?;
        sh.copy_file(path, to)?;
    }
    sh.write_file(
        stage.join("Cargo.toml"),
        of_root(&workspace, |_, folder| folder.into())?,
    )?;
    for (name, folder) in parts(&workspace) {
        let manifest = format!("{folder}/Cargo.toml");
        let text = of_part(name, &sh.read_file(&manifest)?).with_context(|| manifest.clone())?;
        sh.write_file(stage.join(manifest), text)?;
        for licence in LICENCES {
            sh.copy_file(licence, stage.join(folder))?;
        }
    }
    let others = UNPUBLISHED
        .into_iter()
        .flat_map(|(name, _)| ["--exclude", name]);
    let _within = sh.push_dir(&stage);
    cmd!(
        sh,
        "cargo package --workspace {others...} --no-verify --quiet"
    )
    .env("CARGO_TARGET_DIR", cargo::target(sh))
    .run()?;
    Ok(stage)
}

/// The published packages, by the dependencies of the workspace: the name there, and the folder.
fn parts(workspace: &str) -> impl Iterator<Item = (&str, &str)> {
    let own = workspace.lines().filter_map(|line| {
        let (name, folder) = line.split_once(" = { path = \"")?;
        Some((name, folder.strip_suffix("\" }")?))
    });
    own.filter(|part| !UNPUBLISHED.contains(part))
}

/// The published name of a package.
fn published(name: &str) -> String {
    match name.strip_prefix("chat-") {
        _ if name == "server" => "talking-stick".into(),
        Some(part) => format!("talking-stick-{part}"),
        None => format!("talking-stick-{name}"),
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

/// The manifest of this package, with its published name.
///
/// # Errors
/// The manifest has another form than this function expects.
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

/// The manifest of the workspace, in which code and profiles find the packages by their published names.
///
/// # Errors
/// As of `of_part`.
fn of_root(text: &str, place: Place) -> Result<String> {
    let mut members: Vec<_> = UNPUBLISHED.map(|(_, folder)| folder.to_owned()).into();
    let mut out = replaced(text, "\npublish = false\n", "\npublish = true\n")?;
    for (name, folder) in parts(text) {
        let package = published(name);
        let place = place(&package, folder);
        let (old, own) = (format!("{name} = {{ path = \"{folder}\" }}"), &package);
        let new =
            format!("{name} = {{ path = {place:?}, version = \"={VERSION}\", package = {own:?} }}");
        out = replaced(&out, &format!("\n{old}\n"), &format!("\n{new}\n"))?;
        // What a profile says of it.
        out = out.replace(&format!("\n{name}."), &format!("\n{package}."));
        members.push(place);
    }
    let (head, rest) = out.split_once("members = [").context("no members")?;
    let (_, rest) = rest.split_once(']').context("no end of the members")?;
    Ok(format!("{head}members = {members:?}{rest}"))
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
        assert_eq!(
            of_part("sim", part).expect("it is a part"),
            "[package]\nname = \"talking-stick-sim\"\n\n[lib]\nname = \"sim\"\nbench = false\n\n\
             [[bin]]\nname = \"sim\"\n\n[profile.release]\noverflow-checks = true\n"
        );
        let root = "[workspace]\nmembers = [\"core\", \"server\", \"xtask\"]\n\
                    [workspace.package]\npublish = false\n\
                    [workspace.dependencies]\nbook = { path = \"docs/check\" }\n\
                    chat-core = { path = \"core\" }\nserver = { path = \"server\" }\nclap = \"4\"\n\
                    [profile.dev.package]\nserver.opt-level = 0\nxtask.opt-level = 0\n";
        let unpacked = of_root(root, UNPACKED).expect("it is a workspace");
        let wanted = "[workspace]\nmembers = [\"benches\", \"docs/check\", \"xtask\", \
             \"packages/unpacked/talking-stick-core\", \"packages/unpacked/talking-stick\"]\n\
             [workspace.package]\npublish = true\n\
             [workspace.dependencies]\nbook = { path = \"docs/check\" }\n\
             chat-core = { path = \"packages/unpacked/talking-stick-core\", version = \"=VERSION\", \
             package = \"talking-stick-core\" }\n\
             server = { path = \"packages/unpacked/talking-stick\", version = \"=VERSION\", \
             package = \"talking-stick\" }\nclap = \"4\"\n\
             [profile.dev.package]\ntalking-stick.opt-level = 0\nxtask.opt-level = 0\n";
        assert_eq!(unpacked, wanted.replace("VERSION", VERSION));
    }

    #[test]
    fn what_is_not_published_says_so_and_nothing_else_does() {
        let sh = cargo::shell().expect("a folder");
        let is_kept = |folder: &str| {
            let manifest = sh.read_file(format!("{folder}/Cargo.toml"));
            let manifest = manifest.expect("a manifest");
            manifest.contains("\npublish = false\n")
        };
        assert!(UNPUBLISHED.iter().all(|(_, folder)| is_kept(folder)));
        let workspace = sh.read_file("Cargo.toml").expect("a manifest");
        let parts: Vec<_> = parts(&workspace).collect();
        assert!(parts.contains(&("sim-live", "sim/live")), "{parts:?}");
        assert!(!parts.iter().any(|(_, folder)| is_kept(folder)));
    }

    #[test]
    fn a_manifest_of_another_form_is_told() {
        let told = |text| format!("{:#}", of_part("sim", text).expect_err("another form"));
        assert!(told("[package]\nname = \"other\"\n").contains("[package]"));
        assert!(told("[package]\nname = \"sim\"\n").contains("[lib]"));
    }
}

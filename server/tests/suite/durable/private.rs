//! Every file is for the server's own user, whoever made the folder, and no link is followed.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use crate::durable::client::{Refused, backup, restore};
use crate::process::{Server, wait_until};

const TWO_REALMS: &[&str] = &["--realms", "second"];

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is there");
}

fn mode(path: &Path) -> u32 {
    let found = fs::symlink_metadata(path).expect("it is there");
    found.permissions().mode() & 0o777
}

/// A folder of mode 0755 that existed before the server started.
fn open_folder(path: &Path) {
    fs::create_dir(path).expect("a folder");
    set_mode(path, 0o755);
}

/// The names of all files below this folder, each of which is private, as all folders are.
fn private_files(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let is_folder = path.is_dir();
        let wanted = if is_folder { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), wanted, "{}: {:o}", path.display(), mode(&path));
        match is_folder {
            true => names.extend(private_files(&path)),
            false => {
                let name = path.file_name().expect("a name");
                names.push(name.to_string_lossy().into_owned());
            }
        }
    }
    names
}

fn assert_has(names: &[String], wanted: &[&str]) {
    for name in wanted {
        let found = names.iter().any(|found| found.starts_with(name));
        assert!(found, "{name} in {names:?}");
    }
}

#[test]
fn every_file_in_an_open_folder_is_private() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |name: &str| home.path().join(name);
    open_folder(&at("data"));
    let server = Server::on(&at("data"), TWO_REALMS);
    let ann = server.register("ann", "lobby");
    server.say(&ann, ["hello".into()]);
    server.history(&ann, "room_1", 9);
    let all = [
        "lock",
        "marks",
        "journal.db",
        "journal.db-wal",
        "journal.db-shm",
    ];
    assert_has(&private_files(&at("data")), &all);
    assert_has(&private_files(&at("data/realms/second")), &all);
    assert_has(
        &private_files(&at("data")),
        &["history.db-wal", "history.db-shm"],
    );
    for (ran, to) in [
        (backup(&at("data"), &at("backup")), "backup"),
        (restore(&at("backup"), &at("restored")), "restored"),
    ] {
        assert_eq!(ran.code, Some(0), "{}", ran.why);
        assert_eq!(mode(&at(to)), 0o700);
        assert_has(
            &private_files(&at(to)),
            &["marks", "journal.db", "history.db"],
        );
    }
    assert_eq!(server.stop(), Some(0));
    assert_has(&private_files(&at("data")), &["snapshot-"]);
    // Damaged tables are kept under another name, and rebuilt.
    fs::write(
        at("data/history.db"),
        "no database, but long enough to be one".repeat(99),
    )
    .expect("a file");
    set_mode(&at("data/history.db"), 0o644);
    let server = Server::on(&at("data"), TWO_REALMS);
    wait_until("it is not found", || at("data/history.db.damaged").exists());
    assert_eq!(server.history(&ann, "room_1", 9), ["hello"]);
    server.kill();
    let names = private_files(&at("data"));
    assert_has(&names, &["history.db.damaged", "history.db-wal"]);
    assert_eq!(mode(&at("data")), 0o755, "the mode is its owner's choice");
}

#[test]
fn what_an_earlier_version_left_open_is_mended() {
    let home = tempfile::tempdir().expect("a folder");
    let data = home.path().join("data");
    let server = Server::on(&data, TWO_REALMS);
    server.kill();
    for folder in [data.clone(), data.join("realms/second")] {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            set_mode(&path, if path.is_dir() { 0o700 } else { 0o666 });
        }
    }
    set_mode(&data, 0o777);
    // This one is not the server's.
    let tokens = data.join("tokens.txt");
    fs::write(&tokens, "").expect("a file");
    set_mode(&tokens, 0o644);
    let server = Server::on(&data, TWO_REALMS);
    assert_eq!((mode(&data), mode(&tokens)), (0o755, 0o644));
    fs::remove_file(&tokens).expect("it is there");
    private_files(&data);
    assert!(server.log().contains("other users had rights there"));
}

#[test]
fn no_link_in_a_folder_is_followed() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |name: &str| home.path().join(name);
    fs::create_dir(at("victim")).expect("a folder");
    fs::write(at("victim/file"), "dear").expect("a file");
    for name in [
        "history.db",
        "journal.db",
        "journal.db-wal",
        "lock",
        "marks",
        "marks.new",
        "realms",
        "realms/second",
        "sessions.json.new",
        "snapshot-999999",
    ] {
        let data = at(&name.replace('/', "-"));
        open_folder(&data);
        let is_folder = name.starts_with("realms");
        if name == "realms/second" {
            fs::create_dir(data.join("realms")).expect("a folder");
        }
        let target = if is_folder { "victim" } else { "victim/file" };
        symlink(at(target), data.join(name)).expect("a link");
        let Refused { code, why } = Server::refused(&data, TWO_REALMS);
        assert_eq!(code, Some(1), "{name}: {why}");
        let told = why.contains(&format!("{name} is a link")) || why.contains("it is a link");
        assert!(told, "{name}: {why}");
        let left = fs::read_dir(at("victim")).expect("a folder").count();
        let text = fs::read_to_string(at("victim/file")).expect("a file");
        assert_eq!((left, &*text), (1, "dear"), "{name}");
    }
}

#[test]
fn a_copy_takes_regular_files_and_goes_to_a_new_folder_alone() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |name: &str| home.path().join(name);
    let server = Server::on(&at("data"), &[]);
    server.register("ann", "lobby");
    assert_eq!(server.stop(), Some(0));
    assert_eq!(backup(&at("data"), &at("backup")).code, Some(0));
    fs::create_dir(at("empty")).expect("a folder");

    // A link where the copy is made, and where it goes.
    for (link, to) in [("one.incomplete", "one"), ("two", "two")] {
        symlink(at("empty"), at(link)).expect("a link");
        for copy in [backup, restore] {
            let ran = copy(&at("backup"), &at(to));
            assert_eq!(ran.code, Some(1));
            let why = ran.why;
            assert!(why.contains("left it") || why.contains("a link"), "{why}");
        }
        assert!(at(link).is_symlink(), "it is left alone");
    }
    assert_eq!(fs::read_dir(at("empty")).expect("a folder").count(), 0);

    // Links in the place of files.
    fs::write(at("secret"), "of others").expect("a file");
    for name in ["snapshot-999999", "marks", "history.db", "journal.db"] {
        let file = at("backup").join(name);
        let kept = fs::read(&file).ok();
        let _ = fs::remove_file(&file);
        symlink(at("secret"), &file).expect("a link");
        for copy in [backup, restore] {
            let ran = copy(&at("backup"), &at("copy"));
            assert_eq!(ran.code, Some(1), "{name}");
            assert!(ran.why.contains("it is a link"), "{name}: {}", ran.why);
            assert!(!at("copy").exists() && !at("copy.incomplete").exists());
        }
        fs::remove_file(&file).expect("the link");
        if let Some(kept) = kept {
            fs::write(&file, kept).expect("a file");
        }
    }
    assert_eq!(restore(&at("backup"), &at("copy")).code, Some(0));
}

/// Root alone can give a folder away.
#[test]
fn a_folder_of_another_user_is_refused() {
    let home = tempfile::tempdir().expect("a folder");
    let data = home.path().join("data");
    open_folder(&data);
    if std::os::unix::fs::chown(&data, Some(12_345), None).is_err() {
        return;
    }
    let Refused { code, why } = Server::refused(&data, &[]);
    assert_eq!(code, Some(1));
    let told = ["another user, of the number 12345", "chown", "--data"];
    assert!(told.iter().all(|part| why.contains(part)), "{why}");
    assert_eq!(fs::read_dir(&data).expect("a folder").count(), 0);
}

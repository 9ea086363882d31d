//! Files and folders for the server's own user alone: they hold messages and the server's secret.
//!
//! What is made is private, whoever made the folder, and whatever the umask is. What is there is a
//! regular file, and never a link: in a folder that others prepared, a link leads to files of others.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, ffi};
use rustix::fs::{Mode, OFlags};
use rustix::process::{geteuid, umask};
use server_settings::os_error::{advice, reason};

const PRIVATE_FILE: u32 = 0o600;
const PRIVATE_FOLDER: u32 = 0o700;

/// All that group and others may do.
const OF_OTHERS: u32 = 0o077;

/// What lets them change a folder.
const WRITTEN_BY_OTHERS: u32 = 0o022;

/// The user of the system, who may read everything anyway.
const ROOT: u32 = 0;

/// The beginnings of the names of a server's files in its folder.
const NAMES: [&str; 7] = [
    "history.db",
    "journal.db",
    "lock",
    "lost-snapshot-",
    "marks",
    "sessions.",
    "snapshot-",
];

/// The folder of the folders of further realms.
const REALMS: &str = "realms";

/// The error of a file or folder that cannot be read or changed.
pub(crate) fn unusable_at(path: &Path) -> impl FnOnce(io::Error) -> String {
    move |error| format!("{}: {}", path.display(), unusable(&error))
}

/// The error of what belongs to another user, who could read and replace what the server keeps there.
fn foreign(path: &Path, owner: u32) -> String {
    format!(
        "{} belongs to another user, of the number {owner}: give it to the user as whom the server runs \
         with chown, or choose another folder with --data",
        path.display()
    )
}

/// The error of a link, or of another kind of file than expected.
fn link(path: &Path) -> String {
    format!(
        "{} is a link or no usual file, which the server does not follow: put the file or folder itself \
         there. The folder of --data alone may be a link",
        path.display()
    )
}

/// Why a folder cannot be used, and what to do.
fn unusable(error: &io::Error) -> String {
    use io::ErrorKind;
    if is_no_folder(error) {
        return "it is not a folder; --data takes the folder of the journal, which the server makes if \
                it is absent"
            .into();
    }
    let known = [
        (
            ErrorKind::PermissionDenied,
            "the user as whom the server runs must own the folder, or choose another with --data",
        ),
        (
            ErrorKind::NotFound,
            "no folder can be made there; choose another with --data",
        ),
    ];
    let advice = advice(error, &known, "choose another folder with --data");
    format!("{}; {advice}", reason(error))
}

/// Whether there is a file instead of a folder.
#[must_use]
pub fn is_no_folder(error: &io::Error) -> bool {
    use io::ErrorKind;
    [ErrorKind::AlreadyExists, ErrorKind::NotADirectory].contains(&error.kind())
}

/// Makes private what libraries make from now on, in this whole process.
pub fn restrict_new_files() {
    umask(Mode::RWXG | Mode::RWXO);
}

/// Creates a folder, and those above it, unless it exists. One that exists must be the server's own
/// user's, and others lose the right to write there; or root's, if not every user may write there.
/// Kubernetes gives a volume that way.
///
/// # Errors
/// It cannot be created, or others can change it.
pub fn folder(path: &Path) -> Result<(), String> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(PRIVATE_FOLDER);
    let created = builder.create(path).and_then(|()| fs::metadata(path));
    check_folder(path, &created.map_err(unusable_at(path))?)
}

fn check_folder(path: &Path, found: &Metadata) -> Result<(), String> {
    let own = geteuid().as_raw();
    check_rights(path, (found.uid(), found.mode()), own)
}

fn check_rights(path: &Path, (owner, mode): (u32, u32), own: u32) -> Result<(), String> {
    match owner {
        _ if owner == own => restrict(path, mode, WRITTEN_BY_OTHERS),
        ROOT if mode & Mode::WOTH.bits() == 0 => Ok(()),
        ROOT => Err(format!(
            "every user may write in {0}: choose a folder in it with --data, as in --data \
             {0}/talking-stick, which the server makes for itself alone",
            path.display()
        )),
        _ => Err(foreign(path, owner)),
    }
}

/// Takes these rights.
fn restrict(path: &Path, mode: u32, rights: u32) -> Result<(), String> {
    if mode & rights == 0 {
        return Ok(());
    }
    let fewer = Permissions::from_mode(mode & !rights);
    fs::set_permissions(path, fewer).map_err(unusable_at(path))?;
    tracing::warn!(path = %path.display(), "other users had rights there, which are taken from them");
    Ok(())
}

/// Makes a server's files in this folder private. An earlier version, or a copy, may have left them
/// open.
///
/// # Errors
/// One is a link, or another user's.
pub(crate) fn restrict_files(folder: &Path) -> Result<(), String> {
    for (path, found) in entries(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name == REALMS {
            // Each realm opens its own folder, and does not see whether it is a link.
            if !found.is_dir() {
                return Err(link(&path));
            }
            check_folder(&path, &found)?;
            for (path, found) in entries(&path)? {
                if found.is_symlink() {
                    return Err(link(&path));
                }
            }
        } else if NAMES.iter().any(|begins| name.starts_with(begins)) {
            if !found.is_file() {
                return Err(link(&path));
            }
            let owner = found.uid();
            if owner != geteuid().as_raw() {
                return Err(foreign(&path, owner));
            }
            restrict(&path, found.mode(), OF_OTHERS)?;
        }
    }
    Ok(())
}

/// What is in a folder, without what is gone meanwhile.
fn entries(folder: &Path) -> Result<Vec<(PathBuf, Metadata)>, String> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(unusable_at(folder))? {
        let path = entry.map_err(unusable_at(folder))?.path();
        let found = present(fs::symlink_metadata(&path)).map_err(unusable_at(&path))?;
        entries.extend(found.map(|found| (path, found)));
    }
    Ok(entries)
}

/// What was done with a file or read of it; none if it is absent.
///
/// # Errors
/// Another error than that.
pub fn present<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        done => done.map(Some),
    }
}

/// Creates a folder, and those above it.
///
/// # Errors
/// Something is there, or it cannot be created.
pub fn new_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.mode(PRIVATE_FOLDER);
    if let Some(parent) = path.parent() {
        builder.recursive(true).create(parent)?;
    }
    builder.recursive(false).create(path)
}

/// Opens a file by these options. What they create is private.
///
/// # Errors
/// It is a link or no regular file, or cannot be opened.
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    // Without a wait for the other end of a pipe.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options
        .mode(PRIVATE_FILE)
        .custom_flags(flags.bits().cast_signed());
    if let Ok(found) = fs::symlink_metadata(path) {
        check_regular(&found)?;
    }
    let file = options.open(path)?;
    check_regular(&file.metadata()?)?;
    Ok(file)
}

fn check_regular(found: &Metadata) -> io::Result<()> {
    match found.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is a link or no regular file, and not followed",
        )),
    }
}

/// Creates a file, which must not exist.
///
/// # Errors
/// It exists, or cannot be created.
pub fn create(path: &Path) -> io::Result<File> {
    open(path, File::options().write(true).create_new(true))
}

/// The content of a file.
///
/// # Errors
/// It is absent, a link, or unreadable.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, File::options().read(true))?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The content of a file that nobody but this process's user could have written.
///
/// # Errors
/// Somebody else could, or it is absent, a link, or unreadable.
pub fn read_own(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open(path, File::options().read(true))?;
    let found = file.metadata()?;
    if found.uid() != geteuid().as_raw() || found.mode() & WRITTEN_BY_OTHERS != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "another user can write it: remove it",
        ));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a file, completely or not at all, durably, in the place of the one of this name.
///
/// # Errors
/// It cannot be written.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let new = path.with_added_extension("new");
    present(fs::remove_file(&new))?;
    let mut file = create(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    File::open(folder_of(path))?.sync_all()?;
    Ok(file)
}

/// The folder of a file.
#[must_use]
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        Some(_) | None => Path::new("."),
    }
}

/// What a connection to a database may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read what is there.
    Read,
    /// Write it, and create it if it is absent.
    Write,
}

/// Opens a database of SQLite. Its further files take the mode of the first, which SQLite by itself
/// would create for others, too.
///
/// # Errors
/// It is absent, a link, or cannot be opened.
pub fn database(path: &Path, access: Access) -> rusqlite::Result<Connection> {
    let flags = match access {
        Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let found = prepare(path, access).map_err(|error| {
        let code = ffi::Error::new(ffi::SQLITE_CANTOPEN);
        rusqlite::Error::SqliteFailure(
            code,
            Some(format!("it cannot be opened: {}", reason(&error))),
        )
    });
    #[expect(
        clippy::disallowed_methods,
        reason = "the file is private, and no link is followed"
    )]
    Connection::open_with_flags(found?, flags)
}

/// The path of a database without links, which SQLite would refuse above the file, too.
fn prepare(path: &Path, access: Access) -> io::Result<PathBuf> {
    if access == Access::Write
        && let Err(error) = create(path)
        && error.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(error);
    }
    // Not by opening it: when a process closes a file, it loses SQLite's locks on it.
    check_regular(&fs::symlink_metadata(path)?)?;
    let name = path.file_name().unwrap_or_default();
    Ok(fs::canonicalize(folder_of(path))?.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_root_is_taken_unless_every_user_may_write_there() {
        let check = |owner, mode| check_rights(Path::new("/data"), (owner, mode), 65_534);
        // As Kubernetes gives a volume with `fsGroup`.
        assert!(check(0, 0o2775).is_ok());
        let why = check(0, 0o1777).unwrap_err();
        assert!(why.contains("--data /data/talking-stick"), "{why}");
        let why = check(1_000, 0o700).unwrap_err();
        assert!(why.contains("another user, of the number 1000"), "{why}");
    }
}

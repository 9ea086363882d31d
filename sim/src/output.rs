//! Files that a run writes: tried before anything runs, so that no long run ends in vain, and
//! written whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Makes sure that a file can be written here: makes its folder, and tries.
///
/// # Errors
/// Why it cannot.
pub fn prepare(path: &Path) -> io::Result<()> {
    if is_special(path) {
        return Ok(());
    }
    if path.is_dir() || path.file_name().is_none() {
        return Err(io::Error::other("is a folder"));
    }
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        fs::create_dir_all(folder)?;
    }
    let partial = partial(path);
    File::create(&partial)?;
    fs::remove_file(&partial)
}

/// Writes a whole file; a reader sees the old one or the new one, never half of it.
///
/// # Errors
/// Why it could not be written.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    if is_special(path) {
        return fs::write(path, text);
    }
    let partial = partial(path);
    let written = fs::write(&partial, text).and_then(|()| fs::rename(&partial, target(path)));
    if written.is_err() {
        // What is left of it is of no use to anyone, and the first error is the one to tell.
        let _ = fs::remove_file(&partial);
    }
    written
}

/// Devices and pipes are written to, not replaced.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir())
}

/// Behind a link, the file that it leads to.
fn target(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Beside the target, so that renaming it stays on one file system.
fn partial(path: &Path) -> PathBuf {
    let path = target(path);
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".partial");
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_whole_and_its_folder_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/result.json");
        prepare(&path).unwrap();
        assert!(!path.exists());
        write(&path, "one").unwrap();
        write(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_known_before() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(prepare(&file.join("below/a/file.json")).is_err());
        assert_eq!(
            prepare(folder.path()).unwrap_err().to_string(),
            "is a folder"
        );
    }
}

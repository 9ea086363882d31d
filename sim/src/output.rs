//! Output files: checked before a run starts, so that no long run is lost, and written completely
//! or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Checks that a file can be written: creates its folder, and tries. What the file has stays.
///
/// # Errors
/// It cannot be written.
pub fn prepare(path: &Path) -> io::Result<()> {
    if is_special(path) {
        return Ok(());
    }
    if path.is_dir() || path.file_name().is_none() {
        return Err(io::Error::other("is a folder"));
    }
    if let Some(folder) = folder_of(path) {
        if let Some(file) = folder.ancestors().find(|above| above.is_file()) {
            let file = file.display();
            return Err(io::Error::other(format!("{file} is a file, and no folder")));
        }
        fs::create_dir_all(folder)?;
    }
    // A folder may let its files be replaced by their owners alone.
    if path.exists() {
        OpenOptions::new().write(true).open(path)?;
    }
    let partial = partial(path);
    File::create(&partial)?;
    fs::remove_file(&partial)
}

/// The folder that a path names; none if it is the current one.
pub(crate) fn folder_of(path: &Path) -> Option<&Path> {
    path.parent().filter(|folder| *folder != Path::new(""))
}

/// Writes a file, and makes its folder.
///
/// # Errors
/// It could not be written.
pub fn create(path: &Path, text: &str) -> io::Result<()> {
    prepare(path).and_then(|()| write(path, text))
}

/// Writes a file atomically: a reader sees the old content or the new content.
///
/// # Errors
/// It could not be written.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    if is_special(path) {
        return fs::write(path, text);
    }
    let partial = partial(path);
    let written = fs::write(&partial, text).and_then(|()| fs::rename(&partial, target(path)));
    if written.is_err() {
        // The partial file is of no use. The first error is the one to report.
        let _ = fs::remove_file(&partial);
    }
    written
}

/// Whether the path is a device or a pipe, which is written to and not replaced.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir())
}

/// The path behind symbolic links.
fn target(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// A path beside the target, so that renaming stays within one file system.
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
        prepare(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        write(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn an_unwritable_path_is_refused_before_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let below = prepare(&file.join("below/a/file.json")).unwrap_err();
        assert!(below.to_string().ends_with("file is a file, and no folder"));
        // A program that runs can be replaced, but not written.
        #[cfg(target_os = "linux")]
        assert!(prepare(&std::env::current_exe().unwrap()).is_err());
        assert_eq!(
            prepare(folder.path()).unwrap_err().to_string(),
            "is a folder"
        );
    }
}

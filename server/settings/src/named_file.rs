//! Files that people name: of settings, tokens and credentials. Each is a regular file: a pipe or a
//! device may have no end, or never answer.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// The most bytes of a file: enough for the largest number of tokens, each with a comment.
const MAX_BYTES: u64 = 1 << 20;

/// The text in the file at this path.
///
/// # Errors
/// It is no regular file, cannot be read, is too large or no text.
pub fn read(path: &Path) -> io::Result<String> {
    // Before it is opened: that waits for the writer of a pipe.
    check(&fs::metadata(path)?)?;
    text(&File::open(path)?)
}

/// The text in an open file.
///
/// # Errors
/// It is no regular file, cannot be read, is too large or no text.
pub fn text(file: &File) -> io::Result<String> {
    check(&file.metadata()?)?;
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    match text.len() as u64 > MAX_BYTES {
        true => Err(io::Error::new(
            ErrorKind::FileTooLarge,
            "it has more than 1 MiB",
        )),
        false => Ok(text),
    }
}

fn check(found: &Metadata) -> io::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    if found.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    let why = "it is a pipe or a device, and a regular file is wanted";
    Err(io::Error::new(ErrorKind::InvalidInput, why))
}

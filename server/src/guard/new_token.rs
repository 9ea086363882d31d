//! `token`: a new token, and its line for a file of tokens.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use server_settings::named_file;
use sha2::{Digest as _, Sha256};

use super::tokens::{Tokens, TokensError, Wrong, check_name};

/// The number of random bytes of a token.
const BYTES: usize = 32;

/// Why there is no new token.
#[derive(Debug, thiserror::Error)]
pub enum NewTokenError {
    /// The machine has no randomness.
    #[error("the machine has no randomness to make a token of: {0}")]
    Randomness(getrandom::Error),
    /// The name is wrong.
    #[error(transparent)]
    Name(#[from] Wrong),
    /// The file is wrong, also with the new line.
    #[error(transparent)]
    Tokens(#[from] TokensError),
    /// The file cannot be written.
    #[error("cannot write {file}: {}", server_settings::os_error::reason(error))]
    Unwritten {
        /// The file.
        file: String,
        /// The cause.
        error: std::io::Error,
    },
}

/// Makes a token with this name. Its line goes to the end of the file, which is made if it is absent,
/// for its owner alone. Returns the token and, without a file, the line.
///
/// # Errors
/// The name is wrong; or the file is, cannot be written, or has the name already.
pub fn new_token(name: &str, file: Option<&Path>) -> Result<String, NewTokenError> {
    // In a line, a name with `#` or a space would be something else.
    check_name(name)?;
    let mut secret = [0; BYTES];
    getrandom::fill(&mut secret).map_err(NewTokenError::Randomness)?;
    let token = URL_SAFE_NO_PAD.encode(secret);
    let hash = Sha256::digest(token.as_bytes());
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let line = format!("{name} {hash}\n");
    match file {
        Some(file) => {
            append(file, &line)?;
            Ok(format!("{token}\n"))
        }
        None => Ok(format!("{token}\n{line}")),
    }
}

fn append(path: &Path, line: &str) -> Result<(), NewTokenError> {
    let unwritten = |error| NewTokenError::Unwritten {
        file: path.display().to_string(),
        error,
    };
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600);
    let mut file = options.open(path).map_err(unwritten)?;
    let text = named_file::text(&file).map_err(unwritten)?;
    let length = text.len() as u64;
    let end = match text.is_empty() || text.ends_with('\n') {
        true => "",
        false => "\n",
    };
    let added = format!("{end}{line}");
    Tokens::check(path, &(text + &added))?;
    // One write: two commands at once do not mix their lines.
    let written = file.write_all(added.as_bytes());
    let written = written.and_then(|()| file.sync_all());
    if written.is_err() {
        // A part of a line would make the whole file wrong.
        let _ = file.set_len(length);
    }
    written.map_err(unwritten)
}

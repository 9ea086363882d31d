//! The folder for what this program remembers of its user's sessions.

use std::path::PathBuf;

/// The folder: that of the XDG base directories for state, on every platform.
///
/// # Errors
/// The environment names no home.
pub fn state_folder() -> Result<PathBuf, String> {
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let folder =
        absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    folder
        .map(|folder| folder.join("talking-stick"))
        .ok_or_else(|| {
            "no folder for what is remembered of a session: set HOME or XDG_STATE_HOME".into()
        })
}

//! The folder of a journal that no setting names.

use std::ffi::OsString;
use std::path::PathBuf;

use super::SettingsError;

/// What a server keeps whose settings name no folder for the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unnamed {
    /// Nothing: a client's own server, or a demonstration.
    InMemory,
    /// A journal in the folder that the platform has for the data of programs.
    InUsualFolder,
}

impl Unnamed {
    /// The folder; none for no journal.
    pub(super) fn folder(self) -> Result<Option<PathBuf>, SettingsError> {
        match self {
            Self::InMemory => Ok(None),
            Self::InUsualFolder => usual_folder().map(Some),
        }
    }
}

/// The folder for the data of this program: that of systemd, or of the XDG base directories, or of
/// macOS.
///
/// # Errors
/// The environment names no home.
pub fn usual_folder() -> Result<PathBuf, SettingsError> {
    folder_by(&|name| std::env::var_os(name)).ok_or(SettingsError::NoFolder)
}

fn folder_by(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| {
        variable(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    if let Some(folders) = variable("STATE_DIRECTORY") {
        // systemd separates several by colons.
        return std::env::split_paths(&folders).next();
    }
    let home = || absolute("HOME");
    let programs = match cfg!(target_os = "macos") {
        true => home()?.join("Library/Application Support"),
        false => absolute("XDG_DATA_HOME").or_else(|| Some(home()?.join(".local/share")))?,
    };
    Some(programs.join("talking-stick"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_folder_is_the_service_s_or_the_user_s() {
        let of = |given: &[(&str, &str)]| {
            let given: Vec<_> = given.to_vec();
            folder_by(&move |name| {
                let found = given.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            })
        };
        let home = ("HOME", "/home/ann");
        let service = ("STATE_DIRECTORY", "/var/lib/talking-stick:/var/lib/more");
        assert_eq!(of(&[home, service]), Some("/var/lib/talking-stick".into()));
        if cfg!(target_os = "linux") {
            let own = "/home/ann/.local/share/talking-stick";
            assert_eq!(of(&[home]), Some(own.into()));
            assert_eq!(of(&[home, ("XDG_DATA_HOME", "data")]), Some(own.into()));
            let xdg = ("XDG_DATA_HOME", "/data");
            assert_eq!(of(&[xdg]), Some("/data/talking-stick".into()));
        }
        assert_eq!(of(&[]), None);
    }
}

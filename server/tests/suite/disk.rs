//! A disk that fails on command: `trouble.c`, loaded before the C library.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The disk of one folder.
pub(crate) struct Disk {
    scratch: tempfile::TempDir,
    folder: PathBuf,
    trouble: fs::File,
}

impl Disk {
    /// The disk of this folder, which a server may make.
    pub(crate) fn of(folder: PathBuf) -> Self {
        let scratch = tempfile::tempdir().expect("a folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/trouble.c");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let built = Command::new(compiler)
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
            .arg(scratch.path().join("trouble.so"))
            .arg(source)
            .arg("-ldl")
            .status();
        assert!(built.expect("a C compiler, as SQLite needs").success());
        fs::write(scratch.path().join("trouble"), "0").expect("a file");
        let file = fs::File::options()
            .write(true)
            .open(scratch.path().join("trouble"));
        Self {
            scratch,
            folder,
            trouble: file.expect("it was written"),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What a process needs in its environment, so that the disk fails for it.
    pub(crate) fn variables(&self) -> [(&'static str, PathBuf); 3] {
        let path = |name: &str| self.scratch.path().join(name);
        [
            ("LD_PRELOAD", path("trouble.so")),
            ("TROUBLE", path("trouble")),
            ("TROUBLE_DIR", self.folder.clone()),
        ]
    }

    pub(crate) fn set(&self, trouble: Trouble) {
        let byte = match trouble {
            Trouble::Gone => b'0',
            Trouble::Full => b'f',
            Trouble::ReadOnly => b'r',
            Trouble::FailingWrites => b'w',
            Trouble::FailingSyncs => b's',
            Trouble::BlockedSyncs => b'b',
        };
        self.trouble.write_all_at(&[byte], 0).expect("a file");
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    Gone,
    Full,
    ReadOnly,
    FailingWrites,
    FailingSyncs,
    BlockedSyncs,
}

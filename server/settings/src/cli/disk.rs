//! The arguments about the space that a server takes on its disk.

use clap::Args;

use crate::{Bytes, Keep};

/// How much of the disk a server takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
#[group(skip)]
pub struct DiskArgs {
    /// Size of the journal, as in 512MiB or none [default: 2GiB]
    #[arg(
        long,
        value_name = "SIZE",
        allow_hyphen_values = true,
        env = "TALKING_STICK_JOURNAL_BYTES",
        hide_env = true
    )]
    pub journal_bytes: Option<Keep<Bytes>>,
    /// Free space of the disk that the server leaves [default: 64MiB]
    #[arg(
        long,
        value_name = "SIZE",
        allow_hyphen_values = true,
        env = "TALKING_STICK_DISK_RESERVE",
        hide_env = true
    )]
    pub disk_reserve: Option<Keep<Bytes>>,
    /// Size of the history, as in 2GiB or none [default: 8GiB]
    #[arg(
        long,
        value_name = "SIZE",
        allow_hyphen_values = true,
        env = "TALKING_STICK_HISTORY_BYTES",
        hide_env = true
    )]
    pub history_bytes: Option<Keep<Bytes>>,
}

//! The durability of a journal.

/// The durability of a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Durability {
    /// Data is on the disk, and survives a loss of power.
    #[default]
    Fsync,
    /// The operating system has it; survives a server crash.
    Os,
}

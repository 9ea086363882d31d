//! The format of the log.

/// The format of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogForm {
    /// Lines for people.
    #[default]
    Pretty,
    /// A JSON object per line.
    Json,
}

//! The command line, and what packages make of it: completions of shells, and manual pages.
#![expect(
    missing_docs,
    reason = "a comment of flattened arguments would be the first line of the help"
)]

mod variables;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use chat_types::Span;
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum, value_parser};
use clap_complete::Shell;

use crate::accepted;

pub use crate::settings::{ClusterArgs, LogForm, ReadsRule, ServeArgs};
use variables::command;
pub use variables::{in_place_of_flags, parse};

/// A chat server for language-model agents, programs and people.
///
/// Agents meet by chance in a queue, or in named rooms where a talking stick
/// decides who speaks. Agents connect over MCP (/mcp), programs over HTTP
/// (/openapi.json), people with a browser (/).
#[derive(Debug, Parser)]
#[command(name = "talking-stick", version, verbatim_doc_comment)]
#[command(after_help = include_str!("cli/server.txt").trim_ascii_end())]
#[command(args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// The command; `serve` by default.
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub serve: ServeArgs,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve agents, programs and people (the default).
    Serve(Box<ServeArgs>),
    /// Speak MCP on stdin and stdout with one client.
    Stdio(Box<StdioArgs>),
    /// Serve, and let scripted agents talk: watch here or in a browser.
    Demo(Box<DemoArgs>),
    /// Write the history as JSON lines, even while the server runs.
    Export(DataArgs),
    /// Write the journal as one file for `sim replay`, at any time.
    Records(DataArgs),
    /// Copy the journal's folder, even while the server runs.
    Backup {
        /// The new folder, which must be absent or empty
        #[arg(value_name = "DIR")]
        to: PathBuf,
        #[command(flatten)]
        data: DataArgs,
    },
    /// Make the journal's folder from a backup.
    Restore {
        /// The folder of the backup
        #[arg(value_name = "BACKUP")]
        from: PathBuf,
        /// The new folder, which must be absent or empty [default: the user's]
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
    },
    /// Check the journal's folder, even while the server runs.
    Inspect {
        #[command(flatten)]
        data: DataArgs,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Make a token for a caller or an operator.
    Token {
        /// Its owner's name: letters, digits, dots, dashes and underscores
        name: String,
        /// The file to add its line to; without one the line is printed
        file: Option<PathBuf>,
    },
    /// Show the members of a cluster, check their log, or rebuild it.
    Cluster {
        /// What to do
        #[command(subcommand)]
        command: ClusterCommand,
    },
    /// Wait until something is for a participant, for scripts and hooks.
    Wait(WaitArgs),
    /// Wake an idle agent when something is for it.
    Wake(WakeArgs),
    /// Ask a running server whether it takes calls: exit code 0 or 1.
    Healthcheck {
        /// The address on which it listens [default: 127.0.0.1:8894]
        #[arg(long, value_name = "ADDRESS", value_parser = accepted::address)]
        listen: Option<SocketAddr>,
    },
    /// Print the completions of a shell.
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write manual pages.
    Man {
        /// The folder to write them to
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

/// The folder of a journal.
#[derive(Clone, Debug, Args)]
pub struct DataArgs {
    /// The folder of the journal [default: the user's]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

/// The commands about a cluster.
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Print each member's role, epoch, sequence, lag and digest.
    Status {
        #[command(flatten)]
        cluster: ClusterArgs,
        /// Print one JSON array
        #[arg(long)]
        json: bool,
    },
    /// Read the whole log, and compare its copies.
    #[command(after_help = include_str!("cli/verify.txt").trim_ascii_end())]
    Verify {
        #[command(flatten)]
        cluster: ClusterArgs,
        /// The folder of a member, whose journal is compared with the log
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
    },
    /// Make the log from a journal, because it is lost or new.
    #[command(after_help = include_str!("cli/repair.txt").trim_ascii_end())]
    Repair {
        #[command(flatten)]
        cluster: ClusterArgs,
        /// The folder of a member, or of a single server, whose journal the log continues
        #[arg(long, value_name = "DIR")]
        from: PathBuf,
        /// Show what the command would do, and change nothing
        #[arg(long)]
        dry_run: bool,
        /// Take the readable part of a damaged journal
        #[arg(long)]
        accept_loss: bool,
    },
    /// Ask the owner to hand over, and print which member is the owner then.
    Resign(ClusterArgs),
}

/// The arguments of `stdio`.
#[derive(Clone, Debug, Args)]
#[command(after_help = include_str!("cli/stdio.txt").trim_ascii_end())]
pub struct StdioArgs {
    #[command(flatten)]
    pub serve: ServeArgs,
    /// The server to join: auto, never, or a URL as in http://127.0.0.1:8894
    #[arg(long, value_name = "SERVER", default_value = "auto")]
    pub connect: String,
    /// The token for the server; better in TALKING_STICK_TOKEN
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
    /// Start a turn of an idle Codex when something is for it
    #[arg(long)]
    pub wake_codex: bool,
    /// How long Codex calls nothing until it counts as idle
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = Span::parse)]
    pub idle_after: Span,
    #[command(flatten)]
    pub limit: KnockLimit,
}

/// The server of an inbox.
#[derive(Clone, Debug, Args)]
pub struct InboxServerArgs {
    /// The server
    #[arg(long, value_name = "SERVER", default_value = LOCAL_SERVER)]
    pub connect: String,
    /// The token for the server; better in TALKING_STICK_TOKEN
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
}

/// The server of an inbox that no flag names.
pub const LOCAL_SERVER: &str = "http://127.0.0.1:8894";

/// The arguments of `wait`.
#[derive(Clone, Debug, Args)]
#[command(after_help = include_str!("cli/wait.txt").trim_ascii_end())]
pub struct WaitArgs {
    /// The inbox: the inbox_uri that login returns, or its reader id
    #[arg(value_name = "INBOX")]
    pub inbox: String,
    #[command(flatten)]
    pub server: InboxServerArgs,
    /// Say nothing of events up to this one
    #[arg(long, value_name = "SEQ")]
    pub after: Option<u64>,
    /// The longest time to wait: then the exit code is 3
    #[arg(long, value_name = "TIME", value_parser = Span::parse)]
    pub within: Option<Span>,
}

/// The arguments of `wake`.
#[derive(Clone, Debug, Args)]
#[command(after_help = include_str!("cli/wake.txt").trim_ascii_end())]
#[command(group = ArgGroup::new("door").args(["run", "hook", "print"]).required(true))]
pub struct WakeArgs {
    /// The inbox of --run: the inbox_uri that login returns, or its reader id
    #[arg(value_name = "INBOX", requires = "run")]
    pub inbox: Option<String>,
    #[command(flatten)]
    pub server: InboxServerArgs,
    /// The command, with {text} in the place of what it shall say
    #[arg(long, value_name = "COMMAND", requires_all = ["inbox", "mark"])]
    pub run: Option<String>,
    /// The file that keeps the place of which the agent was last told
    #[arg(long, value_name = "FILE", requires = "run")]
    pub mark: Option<PathBuf>,
    /// Be the hook of a program, which --print describes
    #[arg(long, value_name = "PROGRAM")]
    pub hook: Option<HookProgram>,
    /// Print what wakes the agents of a program, and where it goes
    #[arg(long, value_name = "PROGRAM")]
    pub print: Option<AgentProgram>,
    #[command(flatten)]
    pub limit: KnockLimit,
}

/// The limit of turns that are started.
#[derive(Clone, Copy, Debug, Args)]
pub struct KnockLimit {
    /// The most turns that are started in an hour
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = value_parser!(u16).range(1..))]
    pub per_hour: u16,
}

/// A program that runs hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HookProgram {
    Claude,
    Gemini,
    Opencode,
}

/// A program whose idle agents can be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AgentProgram {
    Claude,
    Codex,
    Gemini,
    Opencode,
}

/// The arguments of `demo`.
#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    #[command(flatten)]
    pub serve: ServeArgs,
    /// The pause of each agent before an action.
    #[arg(long, value_name = "TIME", default_value = "1.5s", value_parser = Span::parse,
        allow_hyphen_values = true)]
    pub pace: Span,
    /// Stop after one conversation; without this, repeat until interrupted.
    #[arg(long)]
    pub once: bool,
}

/// Writes the completions of a shell.
///
/// # Errors
/// They cannot be written.
pub fn completions(shell: Shell, out: &mut dyn Write) -> io::Result<()> {
    // The library panics if it cannot write.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command(), "talking-stick", &mut text);
    out.write_all(&text)
}

/// Writes a manual page for the program and for each of its commands into this folder.
///
/// # Errors
/// The folder cannot be made, or a page not be written.
pub fn manual_pages(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(command(), folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negative_time_or_size_is_refused_for_what_it_is() {
        for (flag, value) in [
            ("--grace", "-5s"),
            ("--history-age", "-90d"),
            ("--memory-limit", "-1GiB"),
        ] {
            let read = Cli::try_parse_from(["talking-stick", flag, value]);
            let error = read.expect_err("it is negative").to_string();
            let named = format!("error: invalid value '{value}' for '{flag}");
            assert!(error.starts_with(&named), "{error}");
        }
    }
}

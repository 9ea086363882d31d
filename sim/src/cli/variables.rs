//! The variables of the environment that options are read from.

use clap::Command;
use clap::builder::Resettable;

/// An empty variable is an unset one, such as a secret that a workflow of a fork does not have.
pub(super) fn without_empty_ones(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let value = arg.get_env().and_then(std::env::var_os);
        match value.is_some_and(|value| value.is_empty()) {
            true => arg.env(Resettable::Reset),
            false => arg,
        }
    });
    command.mut_subcommands(without_empty_ones)
}

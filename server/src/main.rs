//! The server's binary. The server itself comes with a later release; until then this says so,
//! rather than listen and do nothing.

use std::process::ExitCode;

const NOTICE: &str = "\
talking-stick: the server comes with a later release; nothing listens yet.

What there is today is the core that it will serve, and the simulator that proves it:
  cargo run --release -p sim -- scenarios/burst.yaml
";

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is where the program speaks"
)]
fn main() -> ExitCode {
    if std::env::args()
        .nth(1)
        .is_some_and(|word| word == "--help" || word == "-h")
    {
        print!("{NOTICE}");
        return ExitCode::SUCCESS;
    }
    eprint!("{NOTICE}");
    ExitCode::from(2)
}

//! Runs the examples that call the server on a real one: those in shell, Python and JavaScript,
//! page by page in their order.
//!
//! A page's examples become one script. In it `talking-stick` starts the server in the background
//! with the example's flags, but on a free port, and `curl` fails if the server refuses. A shell
//! example is left out if it calls a program that the check cannot run, such as `docker`.

use std::fmt::Write as _;
use std::net::TcpListener;
use std::path::Path;

use ::book::page::{Fence, Page};
use ::book::pages;
use ::book::shell::{Command as Call, commands};
use anyhow::Result;
use xshell::{Shell, cmd};

use crate::cargo;
use crate::outcome::{none_of, skipped};
use crate::programs::{node, there_or_installed};

/// The programs that an example may call.
const CALLED: [&str; 11] = [
    "base64",
    "curl",
    "cut",
    "echo",
    "grep",
    "head",
    "jq",
    "printf",
    "sed",
    "talking-stick",
    "tr",
];

/// The server's addresses in examples.
const WRITTEN: [&str; 2] = ["127.0.0.1:8894", "0.0.0.0:8894"];

/// Folders in examples, and those of the check in their place.
const FOLDERS: [(&str, &str); 2] = [("/var/lib/talking-stick", "data"), ("/backups", "backups")];

/// The beginning of a script. The server logs its address once it listens.
const PRELUDE: &str = r#"set -Eeuo pipefail
trap 'echo "the example failed: $BASH_COMMAND" >&2' ERR
server=
# The next server may use the folder once this one has ended.
stop() { if [ -n "$server" ]; then kill "$server"; wait "$server" || true; server=; fi; }
trap stop EXIT
talking-stick() {
  case "${1-}" in
    backup | completions | export | healthcheck | inspect | man | records | restore | token)
      "$SERVER_PROGRAM" "$@"; return ;;
  esac
  stop
  exec 3< <(exec "$SERVER_PROGRAM" "$@" 2>&1)
  server=$!
  until read -r line <&3 && [[ $line == *"listens on "* ]]; do [ -n "$line" ]; done
}
curl() {
  case " $* " in
    *" -sN "*) command curl --fail-with-body --max-time 2 "$@" || [ $? -eq 28 ] ;;
    *) command curl --fail-with-body --max-time 60 "$@" ;;
  esac
}
talking-stick
"#;

/// The time limit for a page's examples, in seconds. It guards against examples that hang.
const GUARD_S: &str = "120";

/// Runs the examples of every page that calls the server.
pub(super) fn check(sh: &Shell) -> Result<()> {
    there_or_installed(sh, &["curl", "python3"], "curl python3").map_err(skipped)?;
    node(sh).map_err(skipped)?;
    let server = cargo::program(sh, "talking-stick")?;
    let mut failures = Vec::new();
    for page in pages::read(&sh.current_dir())? {
        let failed = run(sh, &page, &server).err();
        failures.extend(failed.map(|why| format!("{}: {why}", page.path)));
    }
    none_of(&failures)
}

/// Runs the examples of a page, at a free address.
fn run(sh: &Shell, page: &Page, server: &Path) -> Result<()> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    let Some(script) = script(page, &address) else {
        return Ok(());
    };
    let workspace = format!("examples/{}", page.path.replace('/', "-"));
    let _within = sh.push_dir(cargo::empty_scratch(sh, &workspace)?);
    sh.write_file("page.sh", script)?;
    for fence in &page.fences {
        if let Some((_, file)) = program(fence) {
            sh.write_file(file, at(&fence.text, &address))?;
        }
    }
    Ok(cmd!(sh, "timeout {GUARD_S} bash page.sh")
        .env("SERVER_PROGRAM", server)
        .env("TALKING_STICK_LISTEN", &address)
        .env("XDG_DATA_HOME", sh.current_dir())
        .env("TALKING_STICK_LOG_LEVEL", "warn")
        .run()?)
}

/// The examples of a page as one script; none if no example calls the server.
fn script(page: &Page, address: &str) -> Option<String> {
    let mut script = String::from(PRELUDE);
    let mut calls = false;
    for fence in &page.fences {
        if let Some((interpreter, file)) = program(fence) {
            calls = true;
            let _ = writeln!(script, "{interpreter} {file}");
        } else if fence.language == "sh" && is_runnable(&fence.text) {
            calls |= fence.text.contains("curl ");
            script.push_str(&at(&fence.text, address));
            // The server's answers end without a newline.
            script.push_str("echo\n");
        }
    }
    calls.then_some(script)
}

/// The interpreter and the file of an example that is a whole program.
fn program(fence: &Fence) -> Option<(&'static str, String)> {
    let (interpreter, ending) = match fence.language.as_str() {
        "python" => ("python3", "py"),
        "js" => ("node", "mjs"),
        _ => return None,
    };
    Some((interpreter, format!("line-{}.{ending}", fence.line)))
}

/// Whether the check may run all programs of an example, and none of them reads stdin.
fn is_runnable(example: &str) -> bool {
    let may = |command: &Call| {
        let second = command.words.get(1);
        let talks = second.is_some_and(|word| word == "stdio" || word == "demo");
        CALLED.contains(&command.program()) && !talks
    };
    commands(example).is_ok_and(|all| all.iter().all(may))
}

/// The example with the server's address and folders replaced.
fn at(example: &str, address: &str) -> String {
    let addresses = WRITTEN.iter().map(|written| (*written, address));
    addresses
        .chain(FOLDERS)
        .fold(example.to_owned(), |text, (written, ours)| {
            text.replace(written, ours)
        })
}

#[cfg(test)]
mod tests {
    use super::{at, is_runnable, script};
    use ::book::page::Page;

    #[test]
    fn examples_that_cannot_run_in_a_check_are_left_out() {
        assert!(is_runnable("curl -s http://x/ | jq .\n"));
        assert!(is_runnable(
            "ann=$(curl -s http://x/)\nA=$(head -c 9 /dev/urandom | base64)\n"
        ));
        assert!(is_runnable("talking-stick --limit stick=optional\n"));
        assert!(!is_runnable("talking-stick stdio\n"));
        assert!(!is_runnable("docker run talking-stick\n"));
        assert!(!is_runnable("cargo run --release -p server\n"));
    }

    #[test]
    fn a_page_without_calls_has_no_script() {
        let page = Page::read("```sh\ntalking-stick\n```\n\n```sh\nls\n```\n");
        assert_eq!(script(&page, "127.0.0.1:1"), None);
    }

    #[test]
    fn a_script_has_the_examples_in_their_order_and_at_the_address() {
        let page = Page::read(
            "```sh\ncurl http://127.0.0.1:8894/a\n```\n\n```python\nx\n```\n\n```sh\nls\n```\n",
        );
        let script = script(&page, "127.0.0.1:1").expect("it calls the server");
        let (_, own) = script.split_once("\ntalking-stick\n").expect("the prelude");
        assert_eq!(own, "curl http://127.0.0.1:1/a\necho\npython3 line-6.py\n");
    }

    #[test]
    fn examples_write_into_the_folders_of_the_check() {
        let written = "talking-stick backup /backups/monday --data /var/lib/talking-stick\n";
        assert_eq!(
            at(written, "127.0.0.1:1"),
            "talking-stick backup backups/monday --data data\n"
        );
    }
}

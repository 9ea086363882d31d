//! Tests the history in PostgreSQL with a real server, from the system's packages.

use anyhow::{Result, ensure};
use xshell::{Shell, cmd};

use crate::cargo::WHOLE;
use crate::cluster;
use crate::outcome::skipped;
use crate::programs::there_or_installed;

/// Debian's program that makes a server for one command, and its packages.
const MAKES_SERVERS: &str = "pg_virtualenv";
const PACKAGES: &str = "postgresql postgresql-common";

/// Sets the variable that tells the tests where the server is, and runs the words behind it.
const WITH_ADDRESS: &str = "TALKING_STICK_TEST_POSTGRES=postgres://$PGUSER:$PGPASSWORD@$PGHOST:$PGPORT \
                            exec \"$0\" \"$@\"";

/// The modules whose tests this step selects by name. Without one of them, it would select none.
const MODULES: [&str; 3] = ["durable::past::", "durable::copy::", "cluster::copies::"];

/// Runs the tests of the history, the search and its copies on a server.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    there_or_installed(sh, &[MAKES_SERVERS], PACKAGES).map_err(skipped)?;
    cluster::install(sh).map_err(skipped)?;
    for module in MODULES {
        let module = module.trim_end_matches("::").replace("::", "/");
        let file = format!("server/tests/suite/{module}.rs");
        ensure!(sh.path_exists(&file), "{file}: the step selects its tests");
    }
    let sim = crate::cargo::program(sh, "sim")?;
    let server = "-t -o max_connections=200 -o ssl=off -i --no-sync sh -c".split(' ');
    let server: Vec<_> = server.chain([WITH_ADDRESS]).collect();
    let tests = ["--include-ignored"].into_iter().chain(MODULES);
    Ok(cmd!(
        sh,
        "{MAKES_SERVERS} {server...} cargo test {WHOLE...} --test suite -- {tests...}"
    )
    .env("CLUSTER_SIM", sim)
    .run()?)
}

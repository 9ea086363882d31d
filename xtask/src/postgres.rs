//! Tests the history in PostgreSQL with a real server, from the system's packages.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::cargo::{Cargo, WHOLE};
use crate::cluster;
use crate::outcome::Outcome;
use crate::programs::{install, run};

/// Where Debian has the programs, a folder for each version.
const PROGRAMS: &str = "/usr/lib/postgresql";

/// The variable that tells the tests where the server is.
const ADDRESS: &str = "TALKING_STICK_TEST_POSTGRES";

/// The user that the system's package makes: the server refuses to run as root.
const USER: &str = "postgres";

/// The modules whose tests this step selects by name. Without one of them, it would select none.
const MODULES: [&str; 3] = ["durable/past.rs", "durable/copy.rs", "cluster/copies.rs"];

/// How often the server is asked whether it takes connections.
const ATTEMPTS: u32 = 100;

/// Starts a server, and runs the tests of the history and the search on it.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    let programs = match programs() {
        Ok(programs) => programs,
        Err(why) => return Outcome::Skipped(why),
    };
    let server = match PostgresServer::start(&programs) {
        Ok(server) => server,
        Err(why) => return Outcome::Failed(format!("PostgreSQL: {why}")),
    };
    let folder = cargo.root().join("server/tests");
    if let Some(missing) = MODULES.iter().find(|file| !folder.join(file).is_file()) {
        return Outcome::Failed(format!(
            "server/tests/{missing}: the step selects its tests"
        ));
    }
    let tests = [
        &["test"],
        &WHOLE[..],
        &["--test", "durable", "--", "--include-ignored"],
        &["past::", "copy::"],
    ]
    .concat();
    let address = (ADDRESS, &*server.address);
    match cargo.run_with(&[address], &tests) {
        Outcome::Passed => cluster::check_copies(cargo, address),
        failed @ (Outcome::Failed(_) | Outcome::Skipped(_)) => failed,
    }
}

/// The folder of the newest version's programs, which are installed if they are missing.
fn programs() -> Result<PathBuf, String> {
    let found = || {
        let versions = fs::read_dir(PROGRAMS).into_iter().flatten().flatten();
        let programs = versions.map(|version| version.path().join("bin"));
        programs.filter(|bin| bin.join("initdb").is_file()).max()
    };
    if let Some(programs) = found() {
        return Ok(programs);
    }
    let installed = install(&["postgresql"]);
    found().ok_or_else(|| {
        let why = installed
            .err()
            .unwrap_or_else(|| format!("it brought nothing in {PROGRAMS}"));
        format!("`apt-get install postgresql` did not help: {why}")
    })
}

/// A server with a folder of its own, on a free port.
struct PostgresServer {
    process: Child,
    folder: PathBuf,
    address: String,
}

impl PostgresServer {
    fn start(programs: &Path) -> Result<Self, String> {
        // Its user may not reach the build folder.
        let folder = std::env::temp_dir().join(format!("talking-stick-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let is_root = fs::metadata("/proc/self").is_ok_and(|own| is_of_root(&own));
        if is_root {
            run(Command::new("chown").arg(USER).arg(&folder))?;
        }
        let program = |name: &str| {
            let program = programs.join(name);
            let mut command = match is_root {
                true => {
                    let mut command = Command::new("setpriv");
                    command
                        .args(["--reuid", USER, "--regid", USER, "--clear-groups"])
                        .arg(program);
                    command
                }
                false => Command::new(program),
            };
            command.current_dir(&folder).stdin(Stdio::null());
            command
        };
        run(program("initdb")
            .args(["--auth=trust", "--username=postgres", "--encoding=UTF8"])
            .args(["--locale=C", "--no-sync", "--pgdata"])
            .arg(folder.join("data"))
            .stdout(Stdio::null()))?;
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|socket| socket.local_addr())
            .map_err(|error| format!("no free port: {error}"))?
            .port()
            .to_string();
        let log = fs::File::create(folder.join("log")).map_err(|error| error.to_string())?;
        let process = program("postgres")
            .arg("-D")
            .arg(folder.join("data"))
            .args(["-p", &port, "-h", "127.0.0.1", "-k", ""])
            .args(["-c", "max_connections=200"])
            .stderr(log)
            .spawn()
            .map_err(|error| format!("postgres did not start: {error}"))?;
        let server = Self {
            process,
            address: format!("postgres://postgres@127.0.0.1:{port}"),
            folder: folder.clone(),
        };
        let ask = || {
            let mut ask = program("pg_isready");
            ask.args(["-q", "-h", "127.0.0.1", "-p", &port, "-t", "1"]);
            ask.status().is_ok_and(|status| status.success())
        };
        for _ in 0..ATTEMPTS {
            if ask() {
                return Ok(server);
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
        Err(format!("it takes no connections: {log}"))
    }
}

#[cfg(unix)]
fn is_of_root(file: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(file) == 0
}

#[cfg(not(unix))]
fn is_of_root(_: &fs::Metadata) -> bool {
    false
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // `setpriv` has become the server itself. Its data is removed, so it may be killed.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

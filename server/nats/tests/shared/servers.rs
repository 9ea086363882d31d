//! NATS servers as processes, each in a folder of its own.
#![allow(dead_code, reason = "no test program uses all of it")]

use std::fs;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};

use tempfile::TempDir;

/// The version that the tests run with, which `cargo xtask test --only cluster` installs.
const VERSION: &str = "2.15.1";

/// The settings that a log needs.
pub(crate) const PROPER: &str =
    "max_payload: 9MB\nSYNC: always\nlame_duck_duration: 30s\nlame_duck_grace_period: 1s";

/// Servers that form a cluster; or one that is alone.
pub(crate) struct Servers {
    folder: TempDir,
    servers: Vec<Process>,
}

struct Process {
    name: String,
    port: u16,
    monitor: u16,
    config: PathBuf,
    child: Child,
}

impl Servers {
    /// Starts servers with the settings that a log needs.
    pub(crate) fn start(count: usize) -> Self {
        Self::start_with(count, PROPER)
    }

    /// Starts servers with these settings. `SYNC` is that of the block `jetstream`.
    pub(crate) fn start_with(count: usize, settings: &str) -> Self {
        Self::start_linked(count, settings, |_, _, port| port)
    }

    /// Starts servers that reach one another by other ports: `link` returns the port by which the
    /// first server reaches the second one, which listens on the given port.
    pub(crate) fn start_linked(
        count: usize,
        settings: &str,
        mut link: impl FnMut(usize, usize, u16) -> u16,
    ) -> Self {
        let folder = tempfile::Builder::new().prefix("cluster-").tempdir();
        let folder = folder.expect("a folder");
        let ports = free_ports(3 * count);
        let (sync, others): (Vec<_>, Vec<_>) = settings
            .lines()
            .partition(|line| line.starts_with("SYNC: "));
        let sync = sync.first().map_or(String::new(), |line| {
            line.replace("SYNC: ", "sync_interval: ")
        });
        let others = others.join("\n");
        let mut servers = Vec::new();
        for number in 0..count {
            let (port, monitor) = (ports[number], ports[count + number]);
            let (listens, name) = (ports[2 * count + number], format!("n{number}"));
            let store = folder.path().join(&name);
            let mut text = format!(
                "server_name: {name}\nlisten: 127.0.0.1:{port}\nhttp: 127.0.0.1:{monitor}\n\
                 {others}\njetstream {{ store_dir: {store:?}\n {sync} }}\n"
            );
            if count > 1 {
                let peers = (0..count).filter(|peer| *peer != number);
                let routes: Vec<_> = peers
                    .map(|peer| link(number, peer, ports[2 * count + peer]))
                    .map(|port| format!("nats-route://127.0.0.1:{port}"))
                    .collect();
                let routes = routes.join(", ");
                // Nobody listens on the advertised port: servers use the given routes only, and
                // clients the given addresses.
                text += &format!(
                    "cluster {{ name: ts\n listen: 127.0.0.1:{listens}\n routes: [{routes}]\n \
                     no_advertise: true\n advertise: \"127.0.0.1:1\" }}\n"
                );
            }
            let config = folder.path().join(format!("{name}.conf"));
            fs::write(&config, text).expect("a file");
            servers.push(Process {
                child: spawn(&config),
                name,
                port,
                monitor,
                config,
            });
        }
        Self { folder, servers }
    }

    /// The addresses for clients.
    pub(crate) fn addresses(&self) -> Vec<String> {
        let ports = self.ports().into_iter();
        ports
            .map(|port| format!("nats://127.0.0.1:{port}"))
            .collect()
    }

    /// The ports for clients.
    pub(crate) fn ports(&self) -> Vec<u16> {
        self.servers.iter().map(|server| server.port).collect()
    }

    /// The addresses of the monitoring.
    pub(crate) fn monitors(&self) -> Vec<String> {
        let address = |number| format!("http://{}", self.monitor(number));
        (0..self.count()).map(address).collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.servers.len()
    }

    /// The address of a server's monitoring.
    pub(crate) fn monitor(&self, number: usize) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.servers[number].monitor))
    }

    /// The folder of the servers' configurations, logs and stores. It is kept if the test fails.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of all that a server has stored.
    pub(crate) fn store(&self, number: usize) -> PathBuf {
        self.folder.path().join(&self.servers[number].name)
    }

    /// The name of this server.
    pub(crate) fn name(&self, number: usize) -> &str {
        &self.servers[number].name
    }

    /// Sends a signal to this server, as in `KILL`, `STOP` and `CONT`.
    pub(crate) fn signal(&self, number: usize, name: &str) {
        signal(&self.servers[number].child, name);
    }

    /// Lets no file of this server grow, as on a full disk. A new process has no such limit.
    pub(crate) fn fill_disk(&self, number: usize) {
        let status = Command::new("prlimit")
            .args(["--fsize=1:unlimited", "--pid"])
            .arg(self.servers[number].child.id().to_string())
            .status()
            .expect("the program prlimit");
        assert!(status.success(), "a limit for a process of this test");
    }

    /// Kills this server, and starts it again on what its disk holds.
    pub(crate) fn restart(&mut self, number: usize) {
        self.kill(number);
        self.start_again(number);
    }

    /// Kills this server.
    pub(crate) fn kill(&mut self, number: usize) {
        let child = &mut self.servers[number].child;
        child.kill().expect("it runs");
        child.wait().expect("it ends");
    }

    /// Kills all servers, and starts them again without what their disks held.
    pub(crate) fn lose_all(&mut self) {
        for number in 0..self.servers.len() {
            self.kill(number);
        }
        for number in 0..self.servers.len() {
            fs::remove_dir_all(self.store(number)).expect("its folder");
            self.start_again(number);
        }
    }

    /// Lets a server hand over all that it leads, waits until it has ended, and starts it again.
    pub(crate) fn replace(&mut self, number: usize) {
        // The signal for lame duck mode.
        self.signal(number, "USR2");
        self.servers[number].child.wait().expect("it ends");
        self.start_again(number);
    }

    /// Stops a server in the proper way: it writes what it knows of its records.
    pub(crate) fn stop(&mut self, number: usize) {
        self.signal(number, "TERM");
        self.servers[number].child.wait().expect("it ends");
    }

    /// Replaces a part of a server's configuration, which counts from its next start.
    pub(crate) fn configure(&self, number: usize, from: &str, to: &str) {
        let config = &self.servers[number].config;
        let text = fs::read_to_string(config).expect("its configuration");
        assert!(text.contains(from), "no {from} in {text}");
        fs::write(config, text.replace(from, to)).expect("a file");
    }

    /// Starts a killed server on what its disk holds.
    pub(crate) fn start_again(&mut self, number: usize) {
        let server = &mut self.servers[number];
        server.child = spawn(&server.config);
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        // The logs and the stores of the servers are there.
        if std::thread::panicking() {
            self.folder.disable_cleanup(true);
            // There is nobody else to tell if it cannot be written.
            let _ = writeln!(
                io::stderr(),
                "the logs are kept in {}",
                self.folder().display()
            );
        }
        for server in &mut self.servers {
            // A test may have killed it.
            let _ = server.child.kill();
            let _ = server.child.wait();
        }
    }
}

/// Sends a signal to a process. After a STOP, none of its threads runs.
pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("kill")
        .args([format!("-{name}"), child.id().to_string()])
        .status()
        .expect("the program kill");
    assert!(status.success(), "a signal to a process of this test");
    while name == "STOP" && !is_stopped(child.id()) {
        std::thread::yield_now();
    }
}

/// Whether each thread of this process is stopped, by the third field of its status.
fn is_stopped(process: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("it is there");
    threads.flatten().all(|thread| {
        let status = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let state = status.rsplit_once(") ").map(|(_, rest)| rest);
        state.is_none_or(|state| state.starts_with('T'))
    })
}

fn spawn(config: &Path) -> Child {
    let log = config.with_extension("log");
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("../nats-server-{VERSION}/bin/nats-server"));
    Command::new(&program)
        .args(["--config".as_ref(), config.as_os_str()])
        .arg("--log")
        .arg(log)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| {
            panic!(
                "{}: {error}; `cargo xtask test --only cluster` installs it",
                program.display()
            )
        })
}

/// Ports that are free now. They are below those that systems give to outgoing connections, one of
/// which could have the port of a server that is down.
pub(crate) fn free_ports(count: usize) -> Vec<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let own = u16::try_from(std::process::id() % 200).expect("it is small") * 100;
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let drawn = std::iter::repeat_with(|| {
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        10_000 + (own + next) % 20_000
    });
    drawn.filter(is_free).take(count).collect()
}

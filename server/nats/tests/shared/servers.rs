//! NATS servers as processes, each in a folder of its own.
#![allow(dead_code, reason = "no test program uses all of it")]

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// The version that the tests run with, which `cargo xtask test --only cluster` installs.
const VERSION: &str = "2.15.1";

/// The settings that a log needs.
pub(crate) const PROPER: &str = "max_payload: 9MB\nSYNC: always";

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
        let folder = tempfile::tempdir().expect("a folder");
        let ports = free_ports(3 * count);
        let routes: Vec<_> = ports[2 * count..]
            .iter()
            .map(|port| format!("nats-route://127.0.0.1:{port}"))
            .collect();
        let routes = routes.join(", ");
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
            let (route, name) = (ports[2 * count + number], format!("n{number}"));
            let store = folder.path().join(&name);
            let mut text = format!(
                "server_name: {name}\nlisten: 127.0.0.1:{port}\nhttp: 127.0.0.1:{monitor}\n\
                 {others}\njetstream {{ store_dir: {store:?}\n {sync} }}\n"
            );
            if count > 1 {
                text += &format!(
                    "cluster {{ name: ts\n listen: 127.0.0.1:{route}\n routes: [{routes}] }}\n"
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
        let address = |server: &Process| format!("nats://127.0.0.1:{}", server.port);
        self.servers.iter().map(address).collect()
    }

    /// The addresses of the monitoring.
    pub(crate) fn monitors(&self) -> Vec<String> {
        let address = |server: &Process| format!("http://127.0.0.1:{}", server.monitor);
        self.servers.iter().map(address).collect()
    }

    /// The name of this server.
    pub(crate) fn name(&self, number: usize) -> &str {
        &self.servers[number].name
    }

    /// Sends a signal to this server, as in `KILL`, `STOP` and `CONT`.
    pub(crate) fn signal(&self, number: usize, name: &str) {
        signal(&self.servers[number].child, name);
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

    /// The folder in which this server stores.
    pub(crate) fn store(&self, number: usize) -> PathBuf {
        self.folder.path().join(&self.servers[number].name)
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

    /// Starts a killed server on what its disk holds.
    pub(crate) fn start_again(&mut self, number: usize) {
        let server = &mut self.servers[number];
        server.child = spawn(&server.config);
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for server in &mut self.servers {
            // A test may have killed it.
            let _ = server.child.kill();
            let _ = server.child.wait();
        }
    }
}

/// Sends a signal to a process.
pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("kill")
        .args([format!("-{name}"), child.id().to_string()])
        .status()
        .expect("the program kill");
    assert!(status.success(), "a signal to a process of this test");
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

/// Ports that are free now.
pub(crate) fn free_ports(count: usize) -> Vec<u16> {
    let bound: Vec<_> = (0..count)
        .map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"))
        .collect();
    let port = |socket: &TcpListener| socket.local_addr().expect("an address").port();
    bound.iter().map(port).collect()
}

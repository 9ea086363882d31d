//! The proxies of `deploy/` before the real server: TLS, the host, tokens, streams that are not held
//! up, and the simulator's users in every protocol.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cargo::ended;
use crate::live::SCENARIO;
use crate::programs::run;
use crate::server::{FOR_ONE_ADDRESS, Server};
use crate::sim::Sim;

/// The host of the files.
const HOST: &str = "chat.example.org";

/// Another name of the proxies, which this machine resolves.
const HERE: &str = "localhost";

/// A tenth of the scenario's users, so that the proxies limit no rate.
const SCALE: &str = "0.1";

/// A token, and its line in the server's file.
const TOKEN: &str = "a-token-of-the-check";
const TOKENS: &str = "check e30c04fbe48fde626471a10bcc405455fed13184b30dfa199b3c503251694dea\n";

/// The longest time until a proxy listens, and for each request.
const PATIENCE: Duration = Duration::from_secs(20);

/// Sends a stream and the simulator's users through each proxy.
///
/// # Errors
/// The proxy, and what did not pass.
pub(super) fn check(root: &Path, program: &Path, sim: &Sim<'_>) -> Result<(), String> {
    let stage = Stage::new(root, program)?;
    // Each protocol once, one after another, because a server has one queue.
    for (name, proxy, protocols) in [
        ("nginx", stage.nginx(root)?, &["http", "2026-07-28"][..]),
        ("caddy", stage.caddy(root)?, &["2025-11-25"]),
    ] {
        let proxied = Proxied::start(&stage, proxy);
        proxied
            .and_then(|proxied| {
                proxied.converse(name)?;
                proxied.simulate(sim, protocols)
            })
            .map_err(|why| format!("{name}: {why}"))?;
    }
    Ok(())
}

/// The server, and what both proxies need.
struct Stage {
    folder: PathBuf,
    server: Server,
}

/// A proxy's command, and the port on which it will listen.
struct Proxy {
    command: Command,
    port: u16,
}

impl Stage {
    fn new(root: &Path, program: &Path) -> Result<Self, String> {
        let folder = root.join("target/xtask/deploy");
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        // Its own certificate, valid for a day, and no authority's.
        let subject = format!("/CN={HOST}");
        let names = format!("subjectAltName=DNS:{HOST},DNS:{HERE}");
        let kind = "basicConstraints=critical,CA:FALSE";
        run(Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt"])
            .args(["ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"])
            .args(["-keyout", "key.pem", "-out", "certificate.pem"])
            .args(["-subj", &subject, "-addext", &names, "-addext", kind])
            .stderr(Stdio::null())
            .current_dir(&folder))?;
        let tokens = write(&folder, "tokens.txt", TOKENS)?;
        let hosts = [HOST, HERE].join(",");
        let own = [
            "--allow-hosts",
            &hosts,
            "--auth-tokens",
            &tokens,
            "--limit",
            "stick=optional",
            "--realms",
            "arena",
        ];
        let server = Server::start(program, &[&own[..], &FOR_ONE_ADDRESS].concat())?;
        Ok(Self { folder, server })
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// The server's address without its scheme.
    fn upstream(&self) -> &str {
        self.server.url().trim_start_matches("http://")
    }

    fn nginx(&self, root: &Path) -> Result<Proxy, String> {
        let (port, other) = (free_port()?, free_port()?);
        let text = changed(
            root,
            "deploy/nginx.conf",
            &[
                ("listen 443 ", &format!("listen 127.0.0.1:{port} ")),
                ("listen 80;", &format!("listen 127.0.0.1:{other};")),
                (
                    "server 127.0.0.1:8894;",
                    &format!("server {};", self.upstream()),
                ),
                (
                    "/etc/letsencrypt/live/chat.example.org/fullchain.pem",
                    &self.path("certificate.pem"),
                ),
                (
                    "/etc/letsencrypt/live/chat.example.org/privkey.pem",
                    &self.path("key.pem"),
                ),
            ],
        )?;
        let site = write(&self.folder, "site.conf", &text)?;
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {};\n", self.path(name)))
            .concat();
        let whole = format!(
            "daemon off;\npid {};\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}include \
             {site};\n}}\n",
            self.path("nginx.pid")
        );
        let whole = write(&self.folder, "nginx.conf", &whole)?;
        let mut command = Command::new("nginx");
        command.args(["-e", "stderr", "-c", &whole]);
        Ok(Proxy { command, port })
    }

    fn caddy(&self, root: &Path) -> Result<Proxy, String> {
        let port = free_port()?;
        let files = (self.path("certificate.pem"), self.path("key.pem"));
        let site = "{$CHAT_HOST:chat.example.org} {";
        let own = format!("{site}\n\ttls {} {}", files.0, files.1);
        let text = changed(root, "deploy/Caddyfile", &[(site, &own)])?;
        let text = format!("{{\n\tadmin off\n\tauto_https off\n}}\n{text}");
        let path = write(&self.folder, "Caddyfile", &text)?;
        let mut command = Command::new("caddy");
        command.args(["run", "--adapter", "caddyfile", "--config", &path]);
        let sites = [HOST, HERE].map(|name| format!("https://{name}:{port}"));
        command.env("CHAT_HOST", sites.join(", "));
        command.env("CHAT_SERVER", self.upstream());
        command.env("XDG_CONFIG_HOME", &self.folder);
        command.env("XDG_DATA_HOME", &self.folder);
        // Its log has a line for each step of a start.
        command.stderr(Stdio::null());
        Ok(Proxy { command, port })
    }
}

/// A running proxy. It is killed on drop.
struct Proxied {
    child: Child,
    port: u16,
    certificate: String,
}

impl Drop for Proxied {
    fn drop(&mut self) {
        // SIGTERM, so that it ends its own processes. It may have ended already.
        let id = self.child.id().to_string();
        let _ = Command::new("kill").arg(id).status();
        let _ = self.child.wait();
    }
}

impl Proxied {
    fn start(stage: &Stage, proxy: Proxy) -> Result<Self, String> {
        let Proxy { mut command, port } = proxy;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let child = child.map_err(|error| format!("it did not start: {error}"))?;
        let proxied = Self {
            child,
            port,
            certificate: stage.path("certificate.pem"),
        };
        let began = Instant::now();
        while proxied.get("/healthz").is_err() {
            if began.elapsed() > PATIENCE {
                return Err(format!("it does not answer on port {port}"));
            }
        }
        Ok(proxied)
    }

    /// Two participants in a room: a message of one reaches the open stream of the other. Their names
    /// are of this proxy, because both proxies have one server.
    fn converse(&self, proxy: &str) -> Result<(), String> {
        let ann = self.register(&format!("Ann {proxy}"))?;
        let ben = self.register(&format!("Ben {proxy}"))?;
        let mut stream = self.curl("/events", &["--no-buffer"], &ann);
        let stream = stream.stdout(Stdio::piped()).spawn();
        let mut stream = stream.map_err(|error| format!("curl did not start: {error}"))?;
        let out = stream.stdout.take().map(BufReader::new);
        let mut lines = out
            .into_iter()
            .flat_map(BufReader::lines)
            .map_while(Result::ok);
        // A stream begins with a block of its own.
        let opened = lines.by_ref().any(|line| line.starts_with("retry: "));
        let said = self.post("/send", r#"{"message":"through the proxy"}"#, &ben);
        let passed = opened && lines.any(|line| line.contains("through the proxy"));
        let _ = stream.kill();
        let _ = stream.wait();
        said?;
        if !passed {
            return Err(format!("the stream carried no message within {PATIENCE:?}"));
        }
        for path in ["/metrics", "/r/arena/metrics"] {
            if self.get(path).is_ok() {
                return Err(format!("it serves {path} to everybody"));
            }
        }
        Ok(())
    }

    /// The simulator's users pass in these protocols.
    fn simulate(&self, sim: &Sim<'_>, protocols: &[&str]) -> Result<(), String> {
        let target = format!("https://{HERE}:{}", self.port);
        let secured = ["--target", &target, "--ca", &self.certificate];
        let told = ["--token", TOKEN, "--limit", "stick=optional"];
        for protocol in protocols {
            let load = ["--protocol", protocol, "--rate-scale", SCALE, "--quiet"];
            let words = [&[SCENARIO][..], &secured, &told, &load].concat();
            let status = sim.run(&words)?;
            if !status.success() {
                return Err(format!("the users in {protocol}: sim {}", ended(status)));
            }
        }
        Ok(())
    }

    fn register(&self, name: &str) -> Result<String, String> {
        let body = format!(r#"{{"username":"{name}","room":"lobby"}}"#);
        let answer = self.post("/register", &body, "")?;
        let handle = answer["handle"].as_str();
        handle
            .map(str::to_owned)
            .ok_or_else(|| format!("{name} was not registered: {answer}"))
    }

    fn get(&self, path: &str) -> Result<Value, String> {
        self.answered(self.curl(path, &[], ""))
    }

    fn post(&self, path: &str, body: &str, handle: &str) -> Result<Value, String> {
        let words = ["-d", body, "-H", "Content-Type: application/json"];
        self.answered(self.curl(path, &words, handle))
    }

    fn answered(&self, mut curl: Command) -> Result<Value, String> {
        let output = curl.output();
        let output = output.map_err(|error| format!("curl did not start: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        match (output.status.success(), serde_json::from_str(&text)) {
            (true, Ok(value)) => Ok(value),
            _ => Err(format!("port {}: {}", self.port, text.trim())),
        }
    }

    fn curl(&self, path: &str, words: &[&str], handle: &str) -> Command {
        let port = self.port;
        let mut curl = Command::new("curl");
        curl.args([
            "--silent",
            "--fail-with-body",
            "--cacert",
            &self.certificate,
        ])
        .args(["--max-time", &PATIENCE.as_secs().to_string()])
        .args(["--resolve", &format!("{HOST}:{port}:127.0.0.1")])
        .args(["-H", &format!("Authorization: Bearer {TOKEN}")])
        .args(words);
        if !handle.is_empty() {
            curl.args(["-H", &format!("Chat-Handle: {handle}")]);
        }
        curl.arg(format!("https://{HOST}:{port}{path}"));
        curl.stdin(Stdio::null()).stderr(Stdio::null());
        curl
    }
}

/// A file of the repository with these texts in place of those, each of which it has.
fn changed(root: &Path, path: &str, changes: &[(&str, &str)]) -> Result<String, String> {
    let text = fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))?;
    changes
        .iter()
        .try_fold(text, |text, (from, to)| match text.contains(from) {
            true => Ok(text.replace(from, to)),
            false => Err(format!("{path} does not have `{}`", from.trim())),
        })
}

fn write(folder: &Path, name: &str, text: &str) -> Result<String, String> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path.display().to_string())
}

/// A port that was free a moment ago.
fn free_port() -> Result<u16, String> {
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = socket.and_then(|socket| socket.local_addr());
    let address = address.map_err(|error| format!("there is no free port: {error}"))?;
    Ok(address.port())
}

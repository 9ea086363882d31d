//! The proxies of `deploy/` before the real server: TLS, the host, tokens, streams that are not held
//! up, and the simulator's users in every protocol.

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use xshell::{Cmd, Shell, cmd};

use crate::cargo;
use crate::live::SCENARIO;
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
pub(super) fn check(sh: &Shell, program: &Path, sim: &Sim<'_>) -> Result<()> {
    let stage = Stage::new(sh, program)?;
    // Each protocol once, one after another, because a server has one queue.
    for (name, proxy, protocols) in [
        ("nginx", stage.nginx()?, &["http", "2026-07-28"][..]),
        ("caddy", stage.caddy()?, &["2025-11-25"]),
    ] {
        let proxied = Proxied::start(&stage, proxy).context(name)?;
        proxied.converse(name).context(name)?;
        proxied.simulate(sim, protocols).context(name)?;
    }
    Ok(())
}

/// The server, and what both proxies need.
struct Stage<'a> {
    sh: &'a Shell,
    folder: PathBuf,
    server: Server,
}

/// A proxy's command, and the port on which it will listen.
type Proxy = (Command, u16);

impl<'a> Stage<'a> {
    fn new(sh: &'a Shell, program: &Path) -> Result<Self> {
        let folder = cargo::scratch(sh, "deploy")?;
        let _within = sh.push_dir(&folder);
        // Its own certificate, valid for a day, and no authority's.
        let subject = format!("/CN={HOST}");
        let names = format!("subjectAltName=DNS:{HOST},DNS:{HERE}");
        let key =
            "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem".split(' ');
        let kind = "basicConstraints=critical,CA:FALSE";
        cmd!(
            sh,
            "openssl req -x509 {key...} -days 1 -out certificate.pem -subj {subject}"
        )
        .args(["-addext", &names, "-addext", kind])
        .ignore_stderr()
        .run()?;
        sh.write_file("tokens.txt", TOKENS)?;
        let hosts = [HOST, HERE].join(",");
        let tokens = folder.join("tokens.txt").display().to_string();
        let mut own = vec!["--allow-hosts", &hosts, "--auth-tokens", &tokens];
        own.extend(["--limit", "stick=optional", "--realms", "arena"]);
        let server = Server::start(program, &[&own[..], &FOR_ONE_ADDRESS].concat())?;
        Ok(Self { sh, folder, server })
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// The server's address without its scheme.
    fn upstream(&self) -> &str {
        self.server.url().trim_start_matches("http://")
    }

    /// Writes a file of the repository with these texts in place of those, each of which it has, behind
    /// another text.
    fn write(&self, path: &str, before: &str, changes: &[(&str, String)]) -> Result<String> {
        let mut text = self.sh.read_file(path)?;
        for (from, to) in changes {
            let wanted = from.trim();
            ensure!(text.contains(from), "{path} does not have `{wanted}`");
            text = text.replace(from, to);
        }
        let written = self.path(path.rsplit('/').next().unwrap_or(path));
        self.sh.write_file(&written, before.to_owned() + &text)?;
        Ok(written)
    }

    fn nginx(&self) -> Result<Proxy> {
        let (port, other) = (free_port()?, free_port()?);
        let live = "/etc/letsencrypt/live/chat.example.org";
        let (certificate, server) = (self.path("certificate.pem"), self.upstream());
        let server = format!("server {server};");
        let changes = [
            ("listen 443 ", format!("listen 127.0.0.1:{port} ")),
            ("listen 80;", format!("listen 127.0.0.1:{other};")),
            ("server 127.0.0.1:8894;", server),
            (&format!("{live}/fullchain.pem"), certificate),
            (&format!("{live}/privkey.pem"), self.path("key.pem")),
        ];
        let site = self.write("deploy/nginx.conf", "", &changes)?;
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {};\n", self.path(name)))
            .concat();
        let whole = format!(
            "daemon off;\npid {};\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}include {site};\n}}\n",
            self.path("nginx.pid")
        );
        self.sh.write_file(self.path("whole.conf"), whole)?;
        let mut command = Command::new("nginx");
        command.args(["-e", "stderr", "-c", &self.path("whole.conf")]);
        Ok((command, port))
    }

    fn caddy(&self) -> Result<Proxy> {
        let port = free_port()?;
        let site = "{$CHAT_HOST:chat.example.org} {";
        let (certificate, key) = (self.path("certificate.pem"), self.path("key.pem"));
        let own = format!("{site}\n\ttls {certificate} {key}");
        let head = "{\n\tadmin off\n\tauto_https off\n}\n";
        let path = self.write("deploy/Caddyfile", head, &[(site, own)])?;
        let mut command = Command::new("caddy");
        command.args(["run", "--adapter", "caddyfile", "--config", &path]);
        let sites = [HOST, HERE].map(|name| format!("https://{name}:{port}"));
        command.env("CHAT_HOST", sites.join(", "));
        command.env("CHAT_SERVER", self.upstream());
        command.env("XDG_CONFIG_HOME", &self.folder);
        command.env("XDG_DATA_HOME", &self.folder);
        // Its log has a line for each step of a start.
        command.stderr(Stdio::null());
        Ok((command, port))
    }
}

/// A running proxy. It is killed on drop.
struct Proxied<'a> {
    sh: &'a Shell,
    child: Child,
    port: u16,
    certificate: String,
}

impl Drop for Proxied<'_> {
    fn drop(&mut self) {
        // SIGTERM, so that it ends its own processes. It may have ended already.
        let id = self.child.id().to_string();
        let _ = Command::new("kill").arg(id).status();
        let _ = self.child.wait();
    }
}

impl<'a> Proxied<'a> {
    fn start(stage: &Stage<'a>, (mut command, port): Proxy) -> Result<Self> {
        let proxied = Self {
            sh: stage.sh,
            child: command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?,
            port,
            certificate: stage.path("certificate.pem"),
        };
        let began = Instant::now();
        while proxied.get("/healthz").is_err() {
            ensure!(
                began.elapsed() < PATIENCE,
                "it does not answer on port {port}"
            );
        }
        Ok(proxied)
    }

    /// Two participants in a room: a message of one reaches the open stream of the other. Their names
    /// are of this proxy, because both proxies have one server.
    fn converse(&self, proxy: &str) -> Result<()> {
        let ann = self.register(&format!("Ann {proxy}"))?;
        let ben = self.register(&format!("Ben {proxy}"))?;
        let mut stream = Command::from(self.curl("/events", &["--no-buffer"], &ann));
        let mut stream = stream.stdout(Stdio::piped()).spawn()?;
        let out = BufReader::new(stream.stdout.take().context("its output")?);
        let mut lines = out.lines().map_while(std::result::Result::ok);
        // A stream begins with a block of its own.
        let opened = lines.by_ref().any(|line| line.starts_with("retry: "));
        let said = self.post("/send", r#"{"message":"through the proxy"}"#, &ben);
        let passed = opened && lines.any(|line| line.contains("through the proxy"));
        let _ = stream.kill();
        let _ = stream.wait();
        said?;
        ensure!(passed, "the stream carried no message within {PATIENCE:?}");
        for path in ["/metrics", "/r/arena/metrics"] {
            ensure!(self.get(path).is_err(), "it serves {path} to everybody");
        }
        Ok(())
    }

    /// The simulator's users pass in these protocols.
    fn simulate(&self, sim: &Sim<'_>, protocols: &[&str]) -> Result<()> {
        let target = format!("https://{HERE}:{}", self.port);
        let secured = ["--target", &target, "--ca", &self.certificate];
        let told = ["--token", TOKEN, "--limit", "stick=optional"];
        for protocol in protocols {
            let load = ["--protocol", protocol, "--rate-scale", SCALE, "--quiet"];
            sim.run(&[&[SCENARIO][..], &secured, &told, &load].concat())
                .run()?;
        }
        Ok(())
    }

    fn register(&self, name: &str) -> Result<String> {
        let body = format!(r#"{{"username":"{name}","room":"lobby"}}"#);
        let answer = self.post("/register", &body, "")?;
        let handle = answer["handle"].as_str().map(str::to_owned);
        handle.with_context(|| format!("{name} was not registered: {answer}"))
    }

    fn get(&self, path: &str) -> Result<Value> {
        self.answered(self.curl(path, &[], ""))
    }

    fn post(&self, path: &str, body: &str, handle: &str) -> Result<Value> {
        let words = ["-d", body, "-H", "Content-Type: application/json"];
        self.answered(self.curl(path, &words, handle))
    }

    fn answered(&self, curl: Cmd<'_>) -> Result<Value> {
        let output = curl.ignore_status().output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        match (output.status.success(), serde_json::from_str(&text)) {
            (true, Ok(value)) => Ok(value),
            _ => bail!("port {}: {}", self.port, text.trim()),
        }
    }

    fn curl(&self, path: &str, words: &[&str], handle: &str) -> Cmd<'a> {
        let (port, certificate) = (self.port, &self.certificate);
        let patience = PATIENCE.as_secs().to_string();
        let mut headers = vec!["-H".to_owned(), format!("Authorization: Bearer {TOKEN}")];
        if !handle.is_empty() {
            headers.extend(["-H".to_owned(), format!("Chat-Handle: {handle}")]);
        }
        let resolved = format!("{HOST}:{port}:127.0.0.1");
        let url = format!("https://{HOST}:{port}{path}");
        let curl = cmd!(
            self.sh,
            "curl --silent --fail-with-body --cacert {certificate} --max-time {patience}"
        );
        curl.args(["--resolve", &resolved])
            .args(headers)
            .args(words)
            .arg(url)
    }
}

/// A port that was free a moment ago.
fn free_port() -> Result<u16> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(bound.local_addr()?.port())
}

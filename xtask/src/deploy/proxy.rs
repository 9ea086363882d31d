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

/// The host of the files.
const HOST: &str = "chat.example.org";

/// Another name of the proxies, which this machine resolves.
const HERE: &str = "localhost";

/// A tenth of the scenario's users, so that the proxies limit no rate.
const SCALE: &str = "0.1";

/// A token, and its line in the server's file.
const TOKEN: &str = "a-token-of-the-check";
const TOKENS: &str = "check e30c04fbe48fde626471a10bcc405455fed13184b30dfa199b3c503251694dea\n";

/// The header of a request with a body.
const JSON: &str = "Content-Type: application/json";

/// The longest time until a proxy listens, and for each request.
const PATIENCE: Duration = Duration::from_secs(20);

/// Sends a stream and the simulator's users through each proxy.
///
/// # Errors
/// The proxy, and what did not pass.
pub(super) fn check(sh: &Shell, program: &Path, sim: &Path) -> Result<()> {
    let folder = cargo::scratch(sh, "deploy")?;
    let in_folder = |name: &str| folder.join(name).display().to_string();
    // Its own certificate, valid for a day, and no authority's.
    let subject = format!("/CN={HOST}");
    let names = format!("subjectAltName=DNS:{HOST},DNS:{HERE}");
    let [key, certificate] = ["key.pem", "certificate.pem"].map(in_folder);
    let kind = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1".split(' ');
    cmd!(
        sh,
        "openssl req -x509 {kind...} -keyout {key} -out {certificate} -subj {subject}"
    )
    .args(["-addext", &names])
    .args(["-addext", "basicConstraints=critical,CA:FALSE"])
    .ignore_stderr()
    .run()?;
    let tokens = in_folder("tokens.txt");
    sh.write_file(&tokens, TOKENS)?;
    let hosts = [HOST, HERE].join(",");
    let own = ["--allow-hosts", &hosts, "--auth-tokens", &tokens];
    let more = ["--limit=stick=optional", "--realms=arena", "--in-memory"];
    let server = Server::start(program, &[&own[..], &more, &FOR_ONE_ADDRESS].concat())?;
    let stage = Stage {
        sh,
        folder,
        upstream: server.url.trim_start_matches("http://").to_owned(),
        certificate,
        key,
    };
    // Each protocol once, one after another, because a server has one queue.
    for (name, proxy, protocols) in [
        ("nginx", stage.nginx()?, &["http", "2026-07-28"][..]),
        ("caddy", stage.caddy()?, &["2025-11-25"]),
    ] {
        let proxied = Proxied::start(&stage, proxy).context(name)?;
        proxied.converse(name).context(name)?;
        // The simulator's users pass in these protocols.
        let target = format!("https://{HERE}:{}", proxied.port);
        let secured = ["--target", &target, "--ca", &stage.certificate];
        let told = ["--token", TOKEN, "--limit", "stick=optional"];
        for protocol in protocols {
            let load = ["--protocol", protocol, "--rate-scale", SCALE, "--quiet"];
            let words = [&[SCENARIO][..], &secured, &told, &load].concat();
            cmd!(sh, "{sim} {words...}").run().context(name)?;
        }
    }
    Ok(())
}

/// What both proxies need.
struct Stage<'a> {
    sh: &'a Shell,
    folder: PathBuf,
    /// The server's address without its scheme.
    upstream: String,
    certificate: String,
    key: String,
}

/// A proxy's command, and the port on which it will listen.
type Proxy = (Command, u16);

impl Stage<'_> {
    /// Writes a file of the repository with these texts in place of those, each of which it has, and returns
    /// its path.
    fn write(&self, path: &str, changes: &[(&str, String)]) -> Result<String> {
        let mut text = self.sh.read_file(path)?;
        for (from, to) in changes {
            let wanted = from.trim();
            ensure!(text.contains(from), "{path} does not have `{wanted}`");
            text = text.replace(from, to);
        }
        let written = self.folder.join(path.rsplit('/').next().unwrap_or(path));
        self.sh.write_file(&written, text)?;
        Ok(written.display().to_string())
    }

    fn nginx(&self) -> Result<Proxy> {
        let (port, other) = (free_port()?, free_port()?);
        let live = "/etc/letsencrypt/live/chat.example.org";
        let changes = [
            ("listen 443 ", format!("listen 127.0.0.1:{port} ")),
            ("listen 80;", format!("listen 127.0.0.1:{other};")),
            (
                "server 127.0.0.1:8894;",
                format!("server {};", self.upstream),
            ),
            (&format!("{live}/fullchain.pem"), self.certificate.clone()),
            (&format!("{live}/privkey.pem"), self.key.clone()),
        ];
        let site = self.write("deploy/nginx.conf", &changes)?;
        let folder = self.folder.display();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {folder}/{name};\n"))
            .concat();
        let whole = self.folder.join("whole.conf");
        self.sh.write_file(
            &whole,
            format!(
                "daemon off;\npid {folder}/nginx.pid;\nevents {{}}\n\
                 http {{\naccess_log off;\n{temporary}include {site};\n}}\n"
            ),
        )?;
        let mut command = Command::new("nginx");
        command.args(["-e", "stderr", "-c"]).arg(whole);
        Ok((command, port))
    }

    fn caddy(&self) -> Result<Proxy> {
        let port = free_port()?;
        let site = "{$CHAT_HOST:chat.example.org} {";
        let (certificate, key) = (&self.certificate, &self.key);
        let own =
            format!("{{\n\tadmin off\n\tauto_https off\n}}\n{site}\n\ttls {certificate} {key}");
        let path = self.write("deploy/Caddyfile", &[(site, own)])?;
        let sites = [HOST, HERE].map(|name| format!("https://{name}:{port}"));
        let mut command = Command::new("caddy");
        command
            .args(["run", "--adapter", "caddyfile", "--config", &path])
            .env("CHAT_HOST", sites.join(", "))
            .env("CHAT_SERVER", &self.upstream)
            .env("XDG_CONFIG_HOME", &self.folder)
            .env("XDG_DATA_HOME", &self.folder)
            // Its log has a line for each step of a start.
            .stderr(Stdio::null());
        Ok((command, port))
    }
}

/// A running proxy. It is killed on drop.
struct Proxied<'a> {
    stage: &'a Stage<'a>,
    child: Child,
    port: u16,
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
    fn start(stage: &'a Stage<'a>, (mut command, port): Proxy) -> Result<Self> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        let proxied = Self { stage, child, port };
        let began = Instant::now();
        while proxied.ask("/healthz", &[]).is_err() {
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
        let register = |name: &str| {
            let body = format!(r#"{{"username":"{name} {proxy}","room":"lobby"}}"#);
            let answer = self.ask("/register", &["-d", &body, "-H", JSON])?;
            let handle = answer["handle"].as_str();
            let handle = handle.map(|handle| format!("Chat-Handle: {handle}"));
            handle.with_context(|| format!("{name} was not registered: {answer}"))
        };
        let (ann, ben) = (register("Ann")?, register("Ben")?);
        let mut stream = Command::from(self.curl("/events", &["--no-buffer", "-H", &ann]));
        let mut stream = stream.stdout(Stdio::piped()).spawn()?;
        let out = BufReader::new(stream.stdout.take().context("its output")?);
        let mut lines = out.lines().map_while(std::result::Result::ok);
        // A stream begins with a block of its own.
        let opened = lines.by_ref().any(|line| line.starts_with("retry: "));
        let says = r#"{"message":"through the proxy"}"#;
        let said = self.ask("/send", &["-d", says, "-H", JSON, "-H", &ben]);
        let passed = opened && lines.any(|line| line.contains("through the proxy"));
        let _ = stream.kill();
        let _ = stream.wait();
        said?;
        ensure!(passed, "the stream carried no message within {PATIENCE:?}");
        for path in ["/metrics", "/r/arena/metrics"] {
            ensure!(
                self.ask(path, &[]).is_err(),
                "it serves {path} to everybody"
            );
        }
        Ok(())
    }

    fn ask(&self, path: &str, words: &[&str]) -> Result<Value> {
        let output = self.curl(path, words).ignore_status().output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        match (output.status.success(), serde_json::from_str(&text)) {
            (true, Ok(value)) => Ok(value),
            _ => bail!("port {}: {}", self.port, text.trim()),
        }
    }

    fn curl(&self, path: &str, words: &[&str]) -> Cmd<'a> {
        let (port, certificate) = (self.port, &self.stage.certificate);
        let patience = PATIENCE.as_secs().to_string();
        let token = format!("Authorization: Bearer {TOKEN}");
        let resolved = format!("{HOST}:{port}:127.0.0.1");
        let url = format!("https://{HOST}:{port}{path}");
        let curl = cmd!(
            self.stage.sh,
            "curl --silent --fail-with-body --cacert {certificate} --max-time {patience}"
        );
        curl.args(["--resolve", &resolved, "-H", &token])
            .args(words)
            .arg(url)
    }
}

/// A port that was free a moment ago.
fn free_port() -> Result<u16> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(bound.local_addr()?.port())
}

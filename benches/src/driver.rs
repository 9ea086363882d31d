//! The throughput of `sim` as a load generator: its requests per second against a live server,
//! while it checks every message, beside those of oha, which checks none. The two run in turns
//! against one server.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::server::Server;
use crate::wire::{Connection, modern_call};
use crate::{Outcome, median};

#[derive(Debug, clap::Args)]
pub(crate) struct DriverArgs {
    /// Rounds, in each of which both run on every route
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// The path of oha
    #[arg(long, default_value = "oha")]
    oha: PathBuf,
    /// Only this route
    #[arg(long)]
    only: Option<String>,
}

/// The duration of each load, and the number of connections: those of `scenarios/sends.yaml`.
const SPAN: &str = "5s";
const SECONDS: f64 = 5.0;
const CONNECTIONS: &str = "32";

/// As long as the messages of `scenarios/sends.yaml`.
const TEXT: &str = "as long as most of the others";

/// A measured route: its name, that of its protocol for `sim`, and a request.
type Route = (&'static str, &'static str, Vec<u8>);

pub(crate) async fn run(args: &DriverArgs) -> Outcome<()> {
    let server = Server::start(&[]).await?;
    let url = format!("http://{}", server.address);
    let mut routes = routes(&server).await?;
    routes.retain(|(name, ..)| args.only.as_ref().is_none_or(|only| only == name));
    let mut ratios = vec![Vec::new(); routes.len()];
    for round in 1..=args.rounds {
        for ((name, protocol, request), ratios) in routes.iter().zip(&mut ratios) {
            let bare = bare(args, request, &url)?;
            let checked = checked(protocol, &url)?;
            let ratio = checked / bare * 100.0;
            ratios.push(ratio);
            println!(
                "round {round}  {name:<14} oha {bare:>7.0}/s   sim {checked:>7.0}/s   {ratio:>5.1} %"
            );
        }
    }
    println!();
    for ((name, ..), ratios) in routes.iter().zip(ratios) {
        let ratio = median(ratios);
        println!("median   {name:<14} {ratio:>5.1} % of oha's requests/s, every message checked");
    }
    Ok(())
}

/// Both ways to send a message, with two participants in a room.
async fn routes(server: &Server) -> Outcome<Vec<Route>> {
    let mut connection = Connection::open(server.address).await?;
    connection.register("listener", "room").await?;
    let speaker = connection.register("speaker", "room").await?;
    let (post, tool) = ("POST /send", "send_message");
    Ok(vec![
        (post, "http", speaker.posts(post, TEXT)),
        (
            tool,
            "2026-07-28",
            modern_call(tool, speaker.arguments(TEXT)),
        ),
    ])
}

/// The number of such requests that oha completes per second.
fn bare(args: &DriverArgs, request: &[u8], url: &str) -> Outcome<f64> {
    let mut command = Command::new(&args.oha);
    command.args(["--no-tui", "--output-format", "json", "-m", "POST"]);
    command.args(["-z", SPAN, "-c", CONNECTIONS, "-T", "application/json"]);
    let request = String::from_utf8_lossy(request);
    let (head, body) = request.split_once("\r\n\r\n").ok_or("it has no end")?;
    let mut lines = head.lines();
    let path = lines.next().and_then(|line| line.split(' ').nth(1));
    // The other headers are those of every client.
    for header in lines.filter(|line| !line.starts_with("Host:") && !line.starts_with("Content-")) {
        command.args(["-H", header]);
    }
    command.args(["-d", body]);
    command.arg(format!("{url}{}", path.unwrap_or_default()));
    let told = output(&mut command).map_err(|error| {
        let oha = args.oha.display();
        format!("{oha}: {error}; `cargo install --locked oha` brings it")
    })?;
    let json: Value = serde_json::from_slice(&told)?;
    let answered = &json["statusCodeDistribution"];
    let well = answered["200"].as_u64().unwrap_or(0);
    let all = answered.as_object().map_or(0, |codes| codes.len());
    if all != 1 || well == 0 {
        return Err(format!("oha was answered {answered}").into());
    }
    Ok(well as f64 / SECONDS)
}

/// The number of messages per second that `sim` sends and receives again.
fn checked(protocol: &str, url: &str) -> Outcome<f64> {
    let program = std::env::current_exe()?.with_file_name("sim");
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/sends.yaml");
    let mut command = Command::new(program);
    command.arg(scenario);
    command.args(["--target", url, "--protocol", protocol]);
    for limit in ["rate_limit=none", "turn_limit=none", "stick=optional"] {
        command.args(["--limit", limit]);
    }
    command.args(["--quiet", "--json", "-"]);
    let json: Value = serde_json::from_slice(&output(&mut command)?)?;
    let counts = &json["counts"];
    let count = |key: &str| counts[key].as_u64().unwrap_or(0);
    if json["verdict"] != "pass" || count("delivered") != count("accepted") {
        return Err(format!("sim came to {}: {counts}", json["verdict"]).into());
    }
    Ok(count("accepted") as f64 / SECONDS)
}

/// A program's output.
///
/// # Errors
/// What it said, if it failed.
pub(crate) fn output(command: &mut Command) -> Outcome<Vec<u8>> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(format!("ended with {}: {told}", output.status).into());
    }
    Ok(output.stdout)
}

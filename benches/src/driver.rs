//! The throughput of `sim` as a load generator: its requests per second against a live server,
//! while it checks every message, beside those of oha, which checks none. The two run in turns
//! against one server.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::server::Server;
use crate::wire::{Connection, modern_body, modern_headers};
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

/// A measured route.
struct Route {
    name: &'static str,
    /// The name of the protocol for `sim`.
    protocol: &'static str,
    path: &'static str,
    headers: Vec<String>,
    body: Value,
    ratios: Vec<f64>,
}

pub(crate) async fn run(args: &DriverArgs) -> Outcome<()> {
    let server = Server::start(&[]).await?;
    let url = format!("http://{}", server.address);
    let mut routes = routes(&server).await?;
    routes.retain(|route| args.only.as_ref().is_none_or(|only| only == route.name));
    for round in 1..=args.rounds {
        for route in &mut routes {
            let bare = bare(args, route, &url)?;
            let checked = checked(route, &url)?;
            let (name, ratio) = (route.name, checked / bare * 100.0);
            route.ratios.push(ratio);
            println!(
                "round {round}  {name:<14} oha {bare:>7.0}/s   sim {checked:>7.0}/s   {ratio:>5.1} %"
            );
        }
    }
    println!();
    for Route { name, ratios, .. } in routes {
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
    let params = json!({ "name": "send_message", "arguments": speaker.arguments(TEXT) });
    let headers = modern_headers("tools/call", "send_message");
    Ok(vec![
        Route {
            name: "POST /send",
            protocol: "http",
            path: "/send",
            headers: vec![format!("chat-handle: {}", speaker.handle)],
            body: json!({ "message": TEXT, "room_id": speaker.room }),
            ratios: Vec::new(),
        },
        Route {
            name: "send_message",
            protocol: "2026-07-28",
            path: "/mcp",
            headers: headers
                .map(|(name, value)| format!("{name}: {value}"))
                .to_vec(),
            body: modern_body("tools/call", params),
            ratios: Vec::new(),
        },
    ])
}

/// The number of requests that oha completes per second.
fn bare(args: &DriverArgs, route: &Route, url: &str) -> Outcome<f64> {
    let mut command = Command::new(&args.oha);
    command.args(["--no-tui", "--output-format", "json", "-m", "POST"]);
    command.args(["-z", SPAN, "-c", CONNECTIONS, "-T", "application/json"]);
    for header in &route.headers {
        command.args(["-H", header]);
    }
    command.args(["-d", &route.body.to_string()]);
    command.arg(format!("{url}{}", route.path));
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
fn checked(route: &Route, url: &str) -> Outcome<f64> {
    let program = std::env::current_exe()?.with_file_name("sim");
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/sends.yaml");
    let mut command = Command::new(program);
    command.arg(scenario);
    command.args(["--target", url, "--protocol", route.protocol]);
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

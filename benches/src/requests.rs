//! Measures requests per second: the same connections at full speed on several routes, in turns.

use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};

use benches::commands::LENGTH;

use crate::Outcome;
use crate::server::Server;
use crate::turns::{Load, Turns, says, speakers};
use crate::wire::{Person, modern_call};

#[derive(Debug, clap::Args)]
pub(crate) struct RequestsArgs {
    /// Connections, each with one request in flight
    #[arg(long, default_value_t = 16)]
    connections: usize,
    #[command(flatten)]
    turns: Turns,
}

pub(crate) async fn run(args: &RequestsArgs) -> Outcome<()> {
    let server = Server::start(&[]).await?;
    let echo = Server::of("load", &["echo"]).await?;
    // Senders in rooms of two. No participant has a stream.
    let speakers = speakers(&server, args.connections).await?;
    let of = |name, server: &Server, make: &dyn Fn(&Person) -> Vec<u8>| {
        let requests = speakers
            .iter()
            .map(|speaker| (server.address, make(speaker)));
        Load::new(name, requests.collect())
    };
    let text = "x".repeat(LENGTH);
    let mut loads = [
        of("a bare echo", &echo, &|speaker| {
            speaker.posts("POST /", &text)
        })?,
        of("POST /send", &server, &|speaker| {
            speaker.posts("POST /send", &text)
        })?,
        of("the least tool", &server, &|Person { handle, .. }| {
            modern_call("check_stress_status", json!({ "handle": handle }))
        })?,
        of("send_message", &server, &says)?,
    ];
    for _ in 0..args.turns.rounds {
        for load in &mut loads {
            load.saturate(args.turns.span()).await?;
        }
    }
    println!();
    for (load, against) in loads.iter().zip([None, Some(0), None, Some(2)]) {
        let against = against.map(|other| &loads[other]);
        let ratio = against.map_or_else(String::new, |other| {
            format!("{:>5.1} % of {}", load.percent_of(other), other.name)
        });
        let (name, rate) = (load.name, load.rate());
        println!("median   {name:<28} {rate:>9.0} requests/s  {ratio}");
    }
    Ok(())
}

/// The echo: parses its request as JSON, and sends it back.
pub(crate) async fn echo() -> Outcome<()> {
    let app = Router::new().route("/", post(|Json(body): Json<Value>| async { Json(body) }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("listens on http://{}", listener.local_addr()?);
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
        // Without this the connection is only slower.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, app).await?;
    Ok(())
}

//! Measures requests per second: the same connections at full speed on several routes, in turns.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::Outcome;
use crate::server::Server;
use crate::wire::{Connection, modern_call, request};

#[derive(Debug, clap::Args)]
pub(crate) struct RequestsArgs {
    /// Connections, each with one request in flight
    #[arg(long, default_value_t = 16)]
    connections: usize,
    /// Duration of each route in a round, in seconds
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// Rounds, in each of which every route runs once
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

/// A measured route or the echo.
struct Route {
    name: &'static str,
    against: Option<usize>,
    address: SocketAddr,
    /// The request of each connection.
    requests: Vec<Vec<u8>>,
    rates: Vec<f64>,
}

/// The length of messages: the usual `append` of a model.
pub(crate) const LENGTH: usize = 154;

#[expect(clippy::print_stdout, reason = "this is where the program speaks")]
pub(crate) async fn run(args: &RequestsArgs) -> Outcome<()> {
    let (server, echo) = (Server::start().await?, Server::echo().await?);
    let mut routes = routes(args, &server, &echo).await?;
    for round in 0..args.rounds {
        for route in &mut routes {
            let rate = load(route, Duration::from_secs(args.seconds)).await?;
            route.rates.push(rate);
            println!(
                "round {}  {:<28} {rate:>9.0} requests/s",
                round + 1,
                route.name
            );
        }
    }
    println!();
    for route in &routes {
        let ratio = route.against.map(|other| {
            let of = &routes[other];
            let each = route
                .rates
                .iter()
                .zip(&of.rates)
                .map(|(a, b)| a / b * 100.0);
            format!("{:>5.1} % of {}", median(each.collect()), of.name)
        });
        println!(
            "median   {:<28} {:>9.0} requests/s  {}",
            route.name,
            median(route.rates.clone()),
            ratio.unwrap_or_default()
        );
    }
    Ok(())
}

/// The handles and rooms of this many participants, two in each room.
pub(crate) async fn speakers(server: &Server, number: usize) -> Outcome<Vec<(String, String)>> {
    let mut connection = Connection::open(server.address).await?;
    let mut speakers = Vec::new();
    for n in 0..number {
        let who = json!({ "username": format!("agent {n}"), "room": format!("room {}", n / 2) });
        let answer = connection.post("/register", "", &who).await?;
        let text = |key: &str| answer[key].as_str().unwrap_or_default().to_owned();
        speakers.push((text("handle"), text("room_id")));
    }
    Ok(speakers)
}

/// The routes, with senders in rooms of two. No participant has a stream.
async fn routes(args: &RequestsArgs, server: &Server, echo: &Server) -> Outcome<Vec<Route>> {
    let text = "x".repeat(LENGTH);
    let speakers = speakers(server, args.connections).await?;
    let said = |room: &str| json!({ "message": text, "room_id": room });
    let of = |name, against, address, make: &dyn Fn(&str, &str) -> Vec<u8>| Route {
        name,
        against,
        address,
        requests: speakers
            .iter()
            .map(|(handle, room)| make(handle, room))
            .collect(),
        rates: Vec::new(),
    };
    Ok(vec![
        of("a bare echo", None, echo.address, &|handle, room| {
            request("POST /", &[("Chat-Handle", handle)], &said(room))
        }),
        of("POST /send", Some(0), server.address, &|handle, room| {
            request("POST /send", &[("Chat-Handle", handle)], &said(room))
        }),
        of("the least tool", None, server.address, &|handle, _| {
            modern_call("check_stress_status", json!({ "handle": handle }))
        }),
        of("send_message", Some(2), server.address, &|handle, room| {
            let arguments = json!({ "handle": handle, "message": text, "room_id": room });
            modern_call("send_message", arguments)
        }),
    ])
}

/// Loads a route for this long, and returns its requests per second.
async fn load(route: &Route, span: Duration) -> Outcome<f64> {
    let mut tasks = Vec::new();
    let began = Instant::now();
    for request in &route.requests {
        let mut connection = Connection::open(route.address).await?;
        let request = request.clone();
        tasks.push(tokio::spawn(async move {
            let mut answered = 0_u32;
            while began.elapsed() < span {
                let answer = connection.exchange(&request).await?;
                if answer.status != 200 || answer.is_tool_error() {
                    let text = String::from_utf8_lossy(&answer.body).into_owned();
                    return Err(format!("answered {}: {text}", answer.status).into());
                }
                answered += 1;
            }
            Outcome::Ok(answered)
        }));
    }
    let mut answered = 0.0;
    for task in tasks {
        answered += f64::from(task.await??);
    }
    Ok(answered / began.elapsed().as_secs_f64())
}

/// The median; not a number if there is none.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The echo: parses its request as JSON, and sends it back.
#[expect(clippy::print_stderr, reason = "this is where the program speaks")]
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

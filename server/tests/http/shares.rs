//! One address that takes as many of everything as it can get: it is refused, and others are not.

use std::net::Ipv4Addr;

use server::capacity::Share;

use crate::client::Client;
use crate::world::{Setup, World};

/// Another address of this machine.
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

#[tokio::test(flavor = "multi_thread")]
async fn connections_of_one_address_shut_out_no_other() {
    let mut setup = Setup::default();
    setup.capacity.connections = Share { all: 6, each: 2 };
    let world = World::start(setup).await;
    let (mut one, mut other) = (world.client().await, world.client().await);
    assert_eq!(one.get("/healthz").await.status, 200);
    assert_eq!(other.get("/healthz").await.status, 200);
    let refused = world.client().await.get("/healthz").await;
    assert_eq!((refused.status, refused.code()), (503, "overloaded".into()));
    assert!(
        refused.text().contains("2 connections"),
        "{}",
        refused.text()
    );
    let mut elsewhere = Client::connect_from(ELSEWHERE, world.address).await;
    assert_eq!(elsewhere.get("/healthz").await.status, 200);
    let connections = &world.service.capacity().connections;
    assert_eq!((connections.held(), connections.most_of_one()), (3, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_of_one_address_shut_out_no_other() {
    let mut setup = Setup::free();
    setup.capacity.streams = Share { all: 6, each: 2 };
    let world = World::start(setup).await;
    let ann = world.register("Ann").await;
    let path = format!("/events?reader={}", ann.reader);
    let _open = (
        world.client().await.events(&path, &[]).await,
        world.client().await.events(&path, &[]).await,
    );
    let refused = world.client().await.get(&path).await;
    assert_eq!((refused.status, refused.code()), (503, "overloaded".into()));
    assert!(
        refused.text().contains("2 open streams"),
        "{}",
        refused.text()
    );
    let elsewhere = Client::connect_from(ELSEWHERE, world.address).await;
    let _elsewhere = elsewhere.events(&path, &[]).await;
    assert_eq!(world.service.capacity().streams.held(), 3);
}

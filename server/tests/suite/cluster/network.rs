//! The network of a cluster: a proxy on every edge.
//!
//! ```text
//!  clients ──► member ──► each NATS server ──► each other one
//! ```

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::cluster::proxy::{Flow, Proxy, Way};

/// All edges. On drop all connections over them end.
pub(crate) struct Network {
    /// From clients to each member.
    doors: Vec<Proxy>,
    /// From each member to each server.
    links: Vec<Vec<Proxy>>,
    /// From each server to each other one, with both numbers.
    routes: Vec<(usize, usize, Proxy)>,
    runtime: Runtime,
}

impl Network {
    pub(crate) fn new() -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build();
        Self {
            doors: Vec::new(),
            links: Vec::new(),
            routes: Vec::new(),
            runtime: runtime.expect("threads"),
        }
    }

    fn proxy(&self, to: u16) -> Proxy {
        Proxy::start(self.runtime.handle(), to)
    }

    /// Adds the edge between two servers; returns the port in place of this one.
    pub(crate) fn add_route(&mut self, from: usize, to: usize, port: u16) -> u16 {
        let proxy = self.proxy(port);
        let port = proxy.port();
        self.routes.push((from, to, proxy));
        port
    }

    /// Adds the edges of a member, which listens on this port, to the servers' ports.
    pub(crate) fn add_member(&mut self, port: u16, servers: &[u16]) {
        self.doors.push(self.proxy(port));
        let links = servers.iter().map(|port| self.proxy(*port)).collect();
        self.links.push(links);
    }

    /// The port at which clients reach a member.
    pub(crate) fn door(&self, member: usize) -> u16 {
        self.doors[member].port()
    }

    /// The ports at which a member reaches the servers.
    pub(crate) fn links(&self, member: usize) -> Vec<u16> {
        self.links[member].iter().map(Proxy::port).collect()
    }

    /// Changes what is between clients and a member.
    pub(crate) fn set_door(&self, member: usize, flow: Flow) {
        self.doors[member].set(Way::Both, flow);
    }

    /// Changes what is between a member and all servers. `There` is from the member.
    pub(crate) fn set_links(&self, member: usize, way: Way, flow: Flow) {
        for link in &self.links[member] {
            link.set(way, flow);
        }
    }

    /// Changes what is between a server and all others. `There` is from this server.
    pub(crate) fn set_routes(&self, server: usize, way: Way, flow: Flow) {
        for (from, to, route) in &self.routes {
            if *from == server {
                route.set(way, flow);
            } else if *to == server {
                route.set(way.reversed(), flow);
            }
        }
    }

    /// Delays what is between servers, and between members and servers.
    pub(crate) fn delay(&self, by: Duration) {
        self.set_all(Flow::Delayed(by));
    }

    /// Mends everything.
    pub(crate) fn heal(&self) {
        self.set_all(Flow::Open);
        self.doors
            .iter()
            .for_each(|door| door.set(Way::Both, Flow::Open));
    }

    fn set_all(&self, flow: Flow) {
        let routes = self.routes.iter().map(|(_, _, route)| route);
        for edge in self.links.iter().flatten().chain(routes) {
            edge.set(Way::Both, flow);
        }
    }
}

//! The vocabulary of the simulator: the protocol between users and servers, histories, plans, and
//! results. It depends on neither the core nor a world.

pub mod cluster;
pub mod draw;
pub mod history;
pub mod listing;
pub mod messages_in_flight;
pub mod names;
pub mod outcome;
pub mod plan;
pub mod point_counter;
pub mod protocol;
pub mod recipe;
pub mod run_log;
pub mod server;
pub mod user_name;
pub mod words;

//! The settings of a server: values that are parsed and compared, without a socket, a runtime or a
//! database. What they configure is in the crate `server`.

mod durability;
mod memory_limit;
pub mod os_error;
pub mod realm;
mod retention;
mod server_url;
mod switches;
mod toolset;

pub use durability::Durability;
pub use memory_limit::{MemoryLimit, kibibytes};
pub use realm::Realm;
pub use retention::{Keep, Retention};
pub use server_url::ServerUrl;
pub use switches::{AccessLog, OutputSchemas, Usernames};
pub use toolset::Toolset;

//! The settings of a server: the command line, variables and a file in, checked values out. There is no
//! socket, no runtime and no database here: what the values configure is in the crate `server`.

mod accepted;
pub mod cli;
mod given;
mod memory_limit;
pub mod named_file;
pub mod os_error;
pub mod realm;
mod server_url;
mod settings;
mod state_folder;
mod toolset;

pub use memory_limit::kibibytes;
pub use realm::Realm;
pub use server_url::ServerUrl;
pub use settings::{
    ClusterSettings, DEFAULT_LISTEN, Durability, JournalSettings, NO_CLUSTER, Retention, Settings,
    Unnamed, usual_folder,
};
pub use state_folder::state_folder;
pub use toolset::Toolset;

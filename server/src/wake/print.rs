//! What a user adds to a program so that its idle agents are woken. It is printed, and never written by
//! itself: the files are the user's.

use server_settings::cli::{AgentProgram, LOCAL_SERVER};

/// What is added to this program, and where, for agents of this server.
pub(super) fn text(program: AgentProgram, server: &str) -> String {
    let (name, text) = match program {
        AgentProgram::Claude => ("claude", include_str!("print/claude.txt")),
        AgentProgram::Codex => ("codex", include_str!("print/codex.txt")),
        AgentProgram::Gemini => ("gemini", include_str!("print/gemini.txt")),
        AgentProgram::Opencode => ("opencode", include_str!("print/opencode.txt")),
    };
    let connect = match server {
        LOCAL_SERVER => String::new(),
        server => format!(" --connect {server}"),
    };
    let hook = format!("talking-stick wake --hook {name}{connect}");
    let text = text.trim_end().replace("{hook}", &hook);
    text.replace("{connect}", &connect)
}

//! The progress of a waiting call, passed on from the server to the client that asked for it.

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use serde_json::Value;

/// The destination of a call's progress.
#[derive(Debug)]
pub(super) struct ClientProgress {
    peer: Peer<RoleServer>,
    token: ProgressToken,
}

impl ClientProgress {
    /// The progress of a call, if its client asked for it.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Option<Self> {
        let token = context.meta.get_progress_token()?;
        let peer = context.peer.clone();
        Some(Self { peer, token })
    }

    /// Passes on a notification of the server, under the client's own token. Others are left out.
    pub(super) async fn pass(&self, message: &Value) {
        if message["method"] != "notifications/progress" {
            return;
        }
        let params = &message["params"];
        let Some(done) = params["progress"].as_f64() else {
            return;
        };
        let mut said = ProgressNotificationParam::new(self.token.clone(), done);
        if let Some(words) = params["message"].as_str() {
            said = said.with_message(words);
        }
        // A client that is gone ends the call.
        let _ = self.peer.notify_progress(said).await;
    }
}

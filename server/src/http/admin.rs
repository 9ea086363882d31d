//! `/admin/…`: the views and actions of operators.
//!
//! The core knows addresses only as hashes. A mute or a ban of an address, and its end, take the
//! address itself or the hash from the lists of participants and of bans.

mod acts;
mod lists;

use std::sync::Arc;

use axum::Router;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::routing::get;

use super::Shared;
use crate::guard::{Fault, HttpError, Operator};

/// The routes below `/admin`.
pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/overview", get(lists::overview))
        .route("/context", get(lists::context))
        .merge(lists::routes())
        .merge(acts::routes())
}

/// Rejects all requests except those of operators.
impl<S: Sync> FromRequestParts<S> for Operator {
    type Rejection = HttpError;

    async fn from_request_parts(head: &mut Parts, _: &S) -> Result<Self, HttpError> {
        let operator = head.extensions.get::<Self>().cloned();
        operator.ok_or_else(|| Fault::OperatorRequired.into())
    }
}

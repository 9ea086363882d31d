//! One scripted agent: its calls, and its inbox.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use server_chat::driver::EventStream;
use server_chat::refusal::Refusal;
use server_chat::scope::CallerScope;
use server_chat::service::{RequestOrigin, Service};
use server_chat::tools::Tool;

use super::DemoError;

/// The number of names that an agent tries.
const MAX_NAMES: u32 = 20;

/// How long one call waits for events, in seconds.
pub(super) const PATIENCE_S: u64 = 50;

/// A scripted agent.
pub(super) struct Agent {
    /// Its present name.
    pub(super) name: String,
    service: Service,
    origin: RequestOrigin,
    /// Never read: while it is open, the agent is present, however long a visitor thinks.
    present: Option<EventStream>,
    /// The position up to which events were read, and those read that nobody has looked at.
    cursor: u64,
    unseen: VecDeque<Value>,
}

impl Agent {
    pub(super) fn new(name: &str, service: &Service) -> Self {
        Self {
            name: name.into(),
            service: service.clone(),
            origin: RequestOrigin {
                scope: Some(Arc::new(CallerScope::default())),
                ..RequestOrigin::default()
            },
            present: None,
            cursor: 0,
            unseen: VecDeque::new(),
        }
    }

    pub(super) async fn call(&self, tool: Tool, arguments: Value) -> Result<Value, DemoError> {
        let arguments = match arguments {
            Value::Object(map) => map,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Map::new(),
        };
        let outcome = self.service.perform(tool, arguments, &self.origin).await;
        match &outcome.result {
            Ok(_) => Ok(outcome.json()),
            Err(refusal) => Err(self.refused(tool, refusal)),
        }
    }

    fn refused(&self, tool: Tool, refusal: &Refusal) -> DemoError {
        DemoError::Refused {
            who: self.name.clone(),
            tool,
            code: refusal.code,
            message: refusal.message.clone(),
        }
    }

    /// Registers under its name, which this argument takes, and stays present. If the name is taken,
    /// tries similar ones.
    pub(super) async fn arrive(&mut self, tool: Tool, argument: &str) -> Result<Value, DemoError> {
        let first = self.name.clone();
        let mut number = 1;
        let arrived = loop {
            let mut ask = Map::new();
            ask.insert(argument.into(), self.name.as_str().into());
            match self.call(tool, Value::Object(ask)).await {
                Err(DemoError::Refused {
                    code: "name_taken" | "name_not_allowed",
                    ..
                }) if number < MAX_NAMES => {
                    number += 1;
                    self.name = format!("{first} {number}");
                }
                arrived => break arrived?,
            }
        };
        for handle in self.handles() {
            let reader = self.service.reader(&handle);
            let opened = self.service.stream(reader, self.origin.address, None);
            let opened = opened.await;
            let (stream, _) = opened.map_err(|refusal| self.refused(tool, &refusal))?;
            self.present = Some(stream);
        }
        Ok(arrived)
    }

    /// The next event, unless none comes within this time.
    pub(super) async fn next(&mut self, wait_seconds: u64) -> Result<Option<Value>, DemoError> {
        if self.unseen.is_empty() {
            let ask = json!({ "after": self.cursor, "wait_seconds": wait_seconds });
            let page = self.call(Tool::Check, ask).await?;
            self.cursor = page["cursor"].as_u64().unwrap_or(self.cursor);
            let events = page["events"].as_array().into_iter().flatten();
            self.unseen.extend(events.cloned());
        }
        Ok(self.unseen.pop_front())
    }

    /// Unregisters, so that the name is free for the next run.
    pub(super) async fn goodbye(&mut self) {
        self.present = None;
        for handle in self.handles() {
            self.service.unregister(&handle, &self.origin).await;
        }
    }

    fn handles(&self) -> Vec<server_chat::identity::Handle> {
        let scope = self.origin.scope.iter();
        scope.flat_map(|scope| scope.handles()).collect()
    }
}

//! Fixtures for the official conformance suite: tools, resources and prompts with fixed names.
//!
//! They are added to the chat's own tools by a hidden flag of the real binary, so that the suite
//! tests the transport that clients use.

mod asking;
mod content;
mod listed;
mod prompts;
mod resources;
mod rounds;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteResult, CompletionInfo, ErrorData,
    GetPromptRequestParams, GetPromptResponse, ListPromptsResult, ReadResourceResult, Resource,
    ResourceTemplate, ServerCapabilities, SubscriptionFilter, Tool,
};
use rmcp::service::{RequestContext, SubscriptionSink};
use server_settings::ConformanceFixtures;

/// The largest number of listeners that are notified of changes.
const MAX_LISTENERS: usize = 64;

/// Whether the fixtures are enabled.
#[derive(Clone, Debug, Default)]
pub enum Fixtures {
    /// Disabled.
    #[default]
    Absent,
    /// Enabled.
    Present(Present),
}

/// The fixtures, and the listeners of their simulated changes.
#[derive(Clone, Debug, Default)]
pub struct Present {
    listeners: Arc<Mutex<Vec<SubscriptionSink>>>,
}

/// A registered listener. It is removed on drop.
pub(super) struct RegisteredListener {
    present: Present,
    sink: SubscriptionSink,
}

impl Drop for RegisteredListener {
    fn drop(&mut self) {
        let id = self.sink.id();
        self.present.listeners().retain(|sink| sink.id() != id);
    }
}

impl Present {
    fn listeners(&self) -> MutexGuard<'_, Vec<SubscriptionSink>> {
        // No code panics while it holds this lock.
        self.listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<ConformanceFixtures> for Fixtures {
    fn from(given: ConformanceFixtures) -> Self {
        match given {
            ConformanceFixtures::Served => Self::present(),
            ConformanceFixtures::Absent => Self::Absent,
        }
    }
}

impl Fixtures {
    /// Enabled fixtures.
    #[must_use]
    pub fn present() -> Self {
        Self::Present(Present::default())
    }

    pub(super) fn capabilities(&self, mut chat: ServerCapabilities) -> ServerCapabilities {
        if let Self::Absent = self {
            return chat;
        }
        let all = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_completions()
            .build();
        chat.tools = all.tools;
        chat.prompts = all.prompts;
        chat.logging = Some(rmcp::model::JsonObject::new());
        chat.completions = all.completions;
        chat
    }

    pub(super) fn tools(&self) -> Vec<Tool> {
        match self {
            Self::Absent => Vec::new(),
            Self::Present(_) => listed::tools(),
        }
    }

    pub(super) fn has_tool(&self, name: &str) -> bool {
        match self {
            Self::Absent => false,
            Self::Present(_) => listed::is_tool(name),
        }
    }

    /// Calls a fixture tool.
    pub(super) async fn call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let unknown = || ErrorData::invalid_params("Unknown tool", None);
        let Self::Present(present) = self else {
            return Err(unknown());
        };
        if rounds::is_tool(&request.name) {
            return rounds::call(&request, context);
        }
        let arguments = request.arguments.unwrap_or_default();
        if let Some(asked) = asking::call(&request.name, &arguments, context).await {
            return asked.map(Into::into);
        }
        if let Some(told) = content::tell(&request.name, &present.sinks(), context).await {
            return told.map(Into::into);
        }
        content::call(&request.name, &arguments)
            .unwrap_or_else(|| Err(unknown()))
            .map(Into::into)
    }

    pub(super) fn resources(&self) -> Vec<Resource> {
        match self {
            Self::Absent => Vec::new(),
            Self::Present(_) => resources::all(),
        }
    }

    pub(super) fn resource_templates(&self) -> Vec<ResourceTemplate> {
        match self {
            Self::Absent => Vec::new(),
            Self::Present(_) => vec![resources::template()],
        }
    }

    pub(super) fn has_resource(&self, uri: &str) -> bool {
        self.read(uri).is_some()
    }

    pub(super) fn read(&self, uri: &str) -> Option<ReadResourceResult> {
        match self {
            Self::Absent => None,
            Self::Present(_) => resources::read(uri),
        }
    }

    pub(super) fn prompts(&self) -> Option<ListPromptsResult> {
        match self {
            Self::Absent => None,
            Self::Present(_) => Some(prompts::all()),
        }
    }

    pub(super) fn prompt(
        &self,
        request: GetPromptRequestParams,
    ) -> Option<Result<GetPromptResponse, ErrorData>> {
        match self {
            Self::Absent => None,
            Self::Present(_) => Some(prompts::get(request)),
        }
    }

    pub(super) fn completion(&self) -> Option<CompleteResult> {
        match self {
            Self::Absent => None,
            Self::Present(_) => {
                let values = vec!["paris".into(), "park".into(), "party".into()];
                // Three values are within the limit of a completion.
                let found = CompletionInfo::with_all_values(values).unwrap_or_default();
                Some(CompleteResult::new(found))
            }
        }
    }

    pub(super) fn sets_level(&self) -> Option<()> {
        match self {
            Self::Absent => None,
            Self::Present(_) => Some(()),
        }
    }

    /// The changes that a listener may subscribe to, besides those of inboxes.
    pub(super) fn accepts(&self, requested: &SubscriptionFilter) -> SubscriptionFilter {
        match self {
            Self::Absent => SubscriptionFilter::new(),
            Self::Present(_) => requested.clone(),
        }
    }

    /// Registers a listener.
    pub(super) fn listens(&self, sink: &SubscriptionSink) -> Option<RegisteredListener> {
        let Self::Present(present) = self else {
            return None;
        };
        let mut listeners = present.listeners();
        if listeners.len() >= MAX_LISTENERS {
            return None;
        }
        listeners.push(sink.clone());
        drop(listeners);
        Some(RegisteredListener {
            present: present.clone(),
            sink: sink.clone(),
        })
    }
}

impl Present {
    fn sinks(&self) -> Vec<SubscriptionSink> {
        self.listeners().clone()
    }
}

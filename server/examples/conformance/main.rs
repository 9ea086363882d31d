//! The server with fixtures for the official conformance suite of MCP: tools, resources and prompts with
//! fixed names beside the chat's own. `cargo xtask test --only clients` runs the suite against it.

#![expect(
    clippy::print_stderr,
    reason = "a program that starts it reads there where it listens"
)]
#![expect(
    deprecated,
    reason = "the older era subscribes and sets log levels, and the suite asks for it"
)]

mod asking;
mod content;
mod listed;
mod prompts;
mod resources;
mod rounds;

use std::sync::{Arc, Mutex};

use rmcp::RoleServer;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CompletionInfo,
    CustomRequest, CustomResult, ErrorData, GetPromptRequestParams, GetPromptResponse, JsonObject,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext, SubscriptionSink};
use server::guard::{self, GuardOptions};
use server::http::{self, HttpOptions};
use server::listener::{self, ConnectionLimits};
use server::mcp::{self, Chat, McpOptions};
use server::serve::Core;
use server_settings::{Settings, Unnamed, cli};
use server_storage::lock;
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = Settings::gather(&cli::parse()?.serve, Unnamed::InMemory)?;
    let Core { service, .. } = Core::start(&settings)?;
    let stop = CancellationToken::new();
    let options = McpOptions {
        with_requests: true,
        closing: stop.clone(),
        ..McpOptions::default()
    };
    let listeners = Arc::default();
    let with_fixtures = move |chat| Fixtures {
        chat,
        listeners: Arc::clone(&listeners),
    };
    let app = http::router(service.clone(), &HttpOptions::default()).merge(mcp::router_of(
        &service,
        &options,
        with_fixtures,
    ));
    let app = guard::wrap(app, service.clone(), GuardOptions::default());
    let listener = tokio::net::TcpListener::bind(settings.listen).await?;
    eprintln!("it listens on http://{}", listener.local_addr()?);
    listener::serve(listener, app, (service, ConnectionLimits::default()), stop).await;
    Ok(())
}

/// The chat with the fixtures.
struct Fixtures {
    chat: Chat,
    /// The listeners of simulated changes.
    listeners: Arc<Mutex<Vec<SubscriptionSink>>>,
}

type Context = RequestContext<RoleServer>;
type Paged = Option<PaginatedRequestParams>;
type Reply<T> = Result<T, ErrorData>;

impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        let mut info = self.chat.get_info();
        let all = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_completions()
            .build();
        info.capabilities.tools = all.tools;
        info.capabilities.prompts = all.prompts;
        info.capabilities.logging = Some(JsonObject::new());
        info.capabilities.completions = all.completions;
        info
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let fixtures = || listed::tools().into_iter().find(|tool| tool.name == name);
        self.chat.get_tool(name).or_else(fixtures)
    }

    async fn list_tools(&self, request: Paged, context: Context) -> Reply<ListToolsResult> {
        let mut listed = self.chat.list_tools(request, context).await?;
        listed.tools.extend(listed::tools());
        Ok(listed)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Reply<CallToolResponse> {
        if !listed::is_tool(&request.name) {
            return self.chat.call_tool(request, context).await;
        }
        if rounds::is_tool(&request.name) {
            return rounds::call(&request, &context);
        }
        let arguments = request.arguments.unwrap_or_default();
        if let Some(asked) = asking::call(&request.name, &arguments, &context).await {
            return asked.map(Into::into);
        }
        let sinks = lock(&self.listeners).clone();
        if let Some(told) = content::tell(&request.name, &sinks, &context).await {
            return told.map(Into::into);
        }
        let answer = content::call(&request.name, &arguments);
        let unknown = || Err(ErrorData::invalid_params("Unknown tool", None));
        answer.unwrap_or_else(unknown).map(Into::into)
    }

    async fn list_resources(&self, request: Paged, context: Context) -> Reply<ListResourcesResult> {
        let mut listed = self.chat.list_resources(request, context).await?;
        listed.resources.extend(resources::all());
        Ok(listed)
    }

    async fn list_resource_templates(
        &self,
        request: Paged,
        context: Context,
    ) -> Reply<ListResourceTemplatesResult> {
        let mut listed = self.chat.list_resource_templates(request, context).await?;
        listed.resource_templates.push(resources::template());
        Ok(listed)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Reply<ReadResourceResponse> {
        match resources::read(&request.uri) {
            Some(read) => Ok(read.into()),
            None => self.chat.read_resource(request, context).await,
        }
    }

    async fn subscribe(&self, request: SubscribeRequestParams, context: Context) -> Reply<()> {
        match resources::read(&request.uri) {
            Some(_) => Ok(()),
            None => self.chat.subscribe(request, context).await,
        }
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, context: Context) -> Reply<()> {
        match resources::read(&request.uri) {
            Some(_) => Ok(()),
            None => self.chat.unsubscribe(request, context).await,
        }
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let of_chat = self.chat.accepted_subscription_filter(requested)?;
        let mut accepted = requested.clone();
        accepted.resource_subscriptions = of_chat.resource_subscriptions;
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Reply<()> {
        // A notification to a listener that has disconnected fails, and the others still receive theirs.
        lock(&self.listeners).push(context.sink().clone());
        self.chat.listen(context).await
    }

    async fn list_prompts(&self, _: Paged, _: Context) -> Reply<ListPromptsResult> {
        Ok(prompts::all())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: Context,
    ) -> Reply<GetPromptResponse> {
        prompts::get(request)
    }

    async fn complete(&self, _: CompleteRequestParams, _: Context) -> Reply<CompleteResult> {
        let values = vec!["paris".into(), "park".into(), "party".into()];
        // Three values are within the limit of a completion.
        let found = CompletionInfo::with_all_values(values).unwrap_or_default();
        Ok(CompleteResult::new(found))
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: Context) -> Reply<()> {
        Ok(())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: Context,
    ) -> Reply<CustomResult> {
        self.chat.on_custom_request(request, context).await
    }
}

//! The server: what a client of the Model Context Protocol can ask for. In: requests; out: results of tools and texts of resources.
//! Invariants: whatever goes wrong in a call is a result with diagnostics, each with a code, a place where it has one, and what to write
//! instead; only requests that name nothing we have are errors of the protocol.

use crate::mcp::child::{self, Bounds};
use crate::mcp::files::{Root, refusal};
use crate::mcp::tools::{self, TOOLS};
use crate::reference;
use neural_compiler_library::Library;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What all sessions share.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) root: Root,
    pub(crate) library: PathBuf,
    pub(crate) bounds: Bounds,
    /// Calls that run at a time.
    pub(crate) places: Arc<Semaphore>,
}

const SPEC: &str = "neuralc://spec/";
const MODULE: &str = "neuralc://library/";

impl Server {
    async fn call(&self, name: &str, given: &Map<String, Value>) -> Result<Value, Vec<Value>> {
        let Some(tool) = TOOLS.iter().find(|t| t.name == name) else {
            return Err(vec![refusal("unknown-tool", format!("there is no tool `{name}`"), "tools/list names them")]);
        };
        let made = tools::call(tool, given, &self.root, &self.library, self.bounds.time.as_secs_f64()).map_err(|d| vec![d])?;
        let _place = self.places.acquire().await;
        let mut value = child::run(self.root.folder(), &made.words, made.input.as_deref(), self.bounds).await?;
        if let Some(path) = made.table {
            let size = std::fs::metadata(&path).map_or(0, |m| m.len());
            if size > child::MOST_OUTPUT {
                return Err(vec![refusal("limit-output", "the table is longer than 4 MiB", "ask for fewer points or rows")]);
            }
            value["csv"] = json!(std::fs::read_to_string(&path).unwrap_or_default());
        }
        Ok(value)
    }
}

/// Every diagnostic says what to write instead.
fn helped(mut d: Value) -> Value {
    if d["help"].is_null() {
        let code = d["code"].as_str().unwrap_or("").to_string();
        d["help"] = json!(format!("the tool reference explains `{code}`"));
    }
    d
}

/// What a call gives: an object, whatever the command printed.
fn structured(value: Value) -> CallToolResult {
    CallToolResult::structured(if value.is_object() { value } else { json!({"result": value}) })
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("neuralc", env!("CARGO_PKG_VERSION"));
        info.with_instructions(
            "Scientific equations as text, compiled into exact, differentiable programs. Write (* 0.5 m (square v)), check it, run it, fit \
             its params to a table. reference without a query lists the language.",
        )
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        let all = TOOLS.iter().map(|t| Tool::new(t.name, t.description, t.schema()));
        Ok(ListToolsResult::with_all_items(all.collect()))
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let given = request.arguments.unwrap_or_default();
        if request.name == "reference" {
            let query = given.get("query").and_then(Value::as_str).unwrap_or("");
            return Ok(structured(reference::lookup(query)).into());
        }
        if TOOLS.iter().all(|t| t.name != request.name) {
            return Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None));
        }
        let done = tokio::select! {
            done = self.call(&request.name, &given) => done,
            () = context.ct.cancelled() => Err(vec![refusal("cancelled", "the call was cancelled", "call again")]),
        };
        Ok(match done {
            Ok(value) => structured(value).into(),
            Err(diagnostics) => {
                let all: Vec<Value> = diagnostics.into_iter().map(helped).collect();
                CallToolResult::structured_error(json!({"diagnostics": all})).into()
            }
        })
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let page = |name: &str| Resource::new(format!("{SPEC}{name}"), name).with_mime_type("text/markdown");
        let mut all: Vec<Resource> = reference::PAGES.iter().map(|(name, _)| page(name)).collect();
        let modules = Library::open(&self.library).and_then(|l| l.list()).unwrap_or_default();
        all.extend(modules.iter().map(|m| {
            Resource::new(format!("{MODULE}{}", m.id()), m.id()).with_description(m.description.clone()).with_mime_type("text/x-scheme")
        }));
        Ok(ListResourcesResult::with_all_items(all))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let page = ResourceTemplate::new(format!("{SPEC}{{page}}"), "spec").with_description("a page of the language reference");
        let module = ResourceTemplate::new(format!("{MODULE}{{module}}"), "library").with_description("a frozen module, name@version");
        Ok(ListResourceTemplatesResult::with_all_items(vec![page, module]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let none = || ErrorData::resource_not_found(format!("there is no resource `{}`", request.uri), Some(json!({"uri": request.uri})));
        let text = if let Some(name) = request.uri.strip_prefix(SPEC) {
            reference::PAGES.iter().find(|p| p.0 == name).map(|p| p.1.to_string()).ok_or_else(none)?
        } else {
            let id = request.uri.strip_prefix(MODULE).ok_or_else(none)?;
            let library = Library::open(&self.library).map_err(|_| none())?;
            library.get(id).and_then(|m| library.text(&m.name, m.version)).map_err(|_| none())?
        };
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, request.uri)]).into())
    }
}

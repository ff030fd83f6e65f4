//! `neuralc mcp`: a server of the Model Context Protocol. In: a granted folder, bounds; out: answers on standard streams, or over HTTP on
//! the loopback interface. Every call is a process of neuralc itself, so that it can be bounded and ended, and does what the command does.

mod child;
mod files;
mod http;
mod lines;
mod server;
mod tools;

use crate::context::{Context, Failure, reason};
use crate::mcp::child::Bounds;
use crate::mcp::files::Root;
use crate::mcp::server::Server;
use clap::Args;
use rmcp::ServiceExt;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// `neuralc mcp`
#[derive(Args)]
#[command(after_help = "\
For programs that write programs: check, run, fit, simulate, show, library, refine and reference as tools, the language reference and \
the modules of a library as resources. Without --http the server speaks on its standard streams, as clients start it: \
{\"command\": \"neuralc\", \"args\": [\"mcp\", \"--root\", \"/path/to/project\"]}. See docs/mcp.md.

Examples:
  neuralc mcp --root .
  neuralc mcp --root . --http 7777")]
pub(crate) struct McpArgs {
    /// The folder whose files may be read, and into which fitted models and modules are written
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Serve HTTP on this port of the loopback interface (0: any), at /mcp
    #[arg(long, value_name = "PORT")]
    http: Option<u16>,
    /// The token that clients send as `Authorization: Bearer TOKEN` (default: that of the
    /// variable NEURALC_MCP_TOKEN, else a new one, printed)
    #[arg(long, value_name = "TOKEN", requires = "http")]
    token: Option<String>,
    /// Answer every program on this machine, without a token; pages of other origins are refused all the same
    #[arg(long, requires = "http", conflicts_with = "token")]
    without_token: bool,
    /// Seconds a call may take
    #[arg(long, value_name = "S", default_value = "60")]
    call_seconds: f64,
    /// Bytes of memory a call may take
    #[arg(long, value_name = "BYTES", default_value = "4294967296")]
    call_memory: u64,
}

pub(crate) fn run(context: &mut Context, args: &McpArgs) -> Result<u8, Failure> {
    let root = Root::new(&args.root).map_err(|e| Failure::Usage(format!("--root {}: {}", args.root.display(), reason(&e))))?;
    if !(args.call_seconds > 0.0 && args.call_seconds < 1e6) {
        return Err(Failure::Usage("--call-seconds is a positive number".into()));
    }
    let library = context.library.clone().unwrap_or_else(|| match root.folder().join("neuralc.library") {
        marked if marked.is_dir() => marked,
        _ => root.folder().join("library"),
    });
    let library = std::path::absolute(&library).unwrap_or(library);
    let places = std::thread::available_parallelism().map_or(1, usize::from);
    let bounds = Bounds { time: Duration::from_secs_f64(args.call_seconds), memory: args.call_memory };
    let server = Server { root, library, bounds, places: Arc::new(Semaphore::new(places)) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let given = args.token.clone().or_else(|| std::env::var("NEURALC_MCP_TOKEN").ok()).filter(|t| !t.is_empty());
    let token = (!args.without_token).then(|| given.clone().unwrap_or_else(new_token));
    let ended = runtime.block_on(async {
        match args.http {
            None => standard(server).await,
            Some(port) => {
                let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.map_err(|e| reason(&e))?;
                let address = listener.local_addr().map_err(|e| reason(&e))?;
                say(address.port(), token.as_deref().filter(|_| given.is_none()));
                http::serve(server, listener, token).await.map_err(|e| reason(&e))
            }
        }
    });
    ended.map(|()| Failure::FINE).map_err(|why| Failure::plain("mcp", why, None))
}

async fn standard(server: Server) -> Result<(), String> {
    let (streams, written) = lines::checked();
    let ended = match server.serve(streams).await {
        Ok(session) => session.waiting().await.map(drop).map_err(|e| e.to_string()),
        // A client that goes before it begins.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(e) => Err(e.to_string()),
    };
    // A client that does not read any more misses nothing.
    let _ = written.await;
    ended
}

/// 244 random bits.
fn new_token() -> String {
    format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple())
}

/// Where the server is, on standard error: standard output is the client's.
fn say(port: u16, token: Option<&str>) {
    let mut err = std::io::stderr();
    let _ = writeln!(err, "http://127.0.0.1:{port}/mcp");
    if let Some(token) = token {
        let _ = writeln!(err, "Authorization: Bearer {token}");
    }
}

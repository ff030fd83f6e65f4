//! Streamable HTTP on the loopback interface. In: connections; out: the server's answers at /mcp.
//! Invariants: nobody without the token is answered (compared in a time that does not tell how much of it was right); hosts and origins
//! are those of this machine, so that no page of a browser reaches the server by a name of its own.

use crate::mcp::server::Server;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::net::TcpListener;

type Answer = Response<BoxBody<Bytes, Infallible>>;

fn refuse(status: StatusCode, why: &str) -> Answer {
    let mut response = Response::new(Full::new(Bytes::from(why.to_string())).boxed());
    *response.status_mut() = status;
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, hyper::header::HeaderValue::from_static("Bearer"));
    }
    response
}

/// Whether two texts are one; how long it takes depends on their lengths alone.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differ, (x, y)| differ | (x ^ y)) == 0
}

fn may(request: &Request<Incoming>, token: Option<&str>) -> bool {
    let Some(token) = token else { return true };
    let given = request.headers().get(AUTHORIZATION).and_then(|v| v.to_str().ok()).and_then(|v| v.split_once(' '));
    given.is_some_and(|(scheme, rest)| scheme.eq_ignore_ascii_case("bearer") && same(rest.trim().as_bytes(), token.as_bytes()))
}

/// Serves until the process ends.
pub(crate) async fn serve(server: Server, listener: TcpListener, token: Option<String>) -> std::io::Result<()> {
    let loopback = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];
    let config = StreamableHttpServerConfig::default().with_allowed_origins(loopback).enforce_origin_validation();
    let service = StreamableHttpService::new(move || Ok(server.clone()), Arc::new(LocalSessionManager::default()), config);
    let token: Option<Arc<str>> = token.map(Arc::from);
    loop {
        let (stream, _) = listener.accept().await?;
        let (service, token) = (service.clone(), token.clone());
        tokio::spawn(async move {
            let answer = service_fn(move |request: Request<Incoming>| {
                let (service, token) = (service.clone(), token.clone());
                async move {
                    Ok::<Answer, Infallible>(match (may(&request, token.as_deref()), request.uri().path()) {
                        (false, _) => refuse(StatusCode::UNAUTHORIZED, "a bearer token is needed: the server printed it when it started"),
                        (true, "/mcp") => service.handle(request).await,
                        (true, _) => refuse(StatusCode::NOT_FOUND, "the server is at /mcp"),
                    })
                }
            });
            // A connection that breaks is the client's business.
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
        });
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn tokens_are_compared_whole() {
        assert!(super::same(b"abc", b"abc"));
        assert!(!super::same(b"abc", b"abd") && !super::same(b"abc", b"ab") && !super::same(b"", b"a"));
    }
}

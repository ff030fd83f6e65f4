//! Streamable HTTP on the loopback interface. In: connections; out: the server's answers at /mcp.
//! Invariants: nobody without the token is answered (compared in a time that does not tell how much of it was right); a request names the
//! server as one of three texts, whatever it has besides, and comes from no page or from one of the server's own origin, so that no page of
//! a browser reaches it by a name of its own. That is decided here, before anything else looks at the request.

use crate::mcp::server::Server;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, ORIGIN, WWW_AUTHENTICATE};
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

/// What the server is called in requests: host and port, and nothing else. Browsers leave out the port of the scheme.
fn names(port: u16) -> Vec<String> {
    let hosts = ["localhost", "127.0.0.1", "[::1]"];
    let bare = hosts.iter().filter(|_| port == 80).map(|host| host.to_string());
    hosts.iter().map(|host| format!("{host}:{port}")).chain(bare).collect()
}

/// The only value of a header; `Err`: there are several, or it is no plain text.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(one), None) => one.to_str().map(Some).map_err(drop),
        (Some(_), Some(_)) => Err(()),
    }
}

/// Whether a request is for this server, and from no page of another. Texts are compared whole: whatever is taken apart can be taken apart
/// in another way by somebody else. `authority`: that of a request line that is a whole URL.
fn is_ours(headers: &HeaderMap, authority: Option<&str>, names: &[String]) -> bool {
    let known = |name: &str| names.iter().any(|n| n == name);
    let host = matches!(only(headers, &HOST), Ok(Some(host)) if known(host));
    // Programs that are no browsers send no origin.
    let origin = match only(headers, &ORIGIN) {
        Ok(origin) => origin.is_none_or(|o| o.strip_prefix("http://").is_some_and(known)),
        Err(()) => false,
    };
    host && origin && authority.is_none_or(known)
}

/// Serves until the process ends.
pub(crate) async fn serve(server: Server, listener: TcpListener, token: Option<String>) -> std::io::Result<()> {
    let names: Arc<[String]> = names(listener.local_addr()?.port()).into();
    let config = StreamableHttpServerConfig::default().disable_allowed_hosts().disable_allowed_origins();
    let service = StreamableHttpService::new(move || Ok(server.clone()), Arc::new(LocalSessionManager::default()), config);
    let token: Option<Arc<str>> = token.map(Arc::from);
    loop {
        let (stream, _) = listener.accept().await?;
        let (service, token, names) = (service.clone(), token.clone(), names.clone());
        tokio::spawn(async move {
            let answer = service_fn(move |request: Request<Incoming>| {
                let (service, token, names) = (service.clone(), token.clone(), names.clone());
                async move {
                    let authority = request.uri().authority().map(|a| a.as_str());
                    Ok::<Answer, Infallible>(match request.uri().path() {
                        _ if !is_ours(request.headers(), authority, &names) => {
                            refuse(StatusCode::FORBIDDEN, "the server is called as it was printed, and answers no pages of other origins")
                        }
                        _ if !may(&request, token.as_deref()) => {
                            refuse(StatusCode::UNAUTHORIZED, "a bearer token is needed: the server printed it when it started")
                        }
                        "/mcp" => service.handle(request).await,
                        _ => refuse(StatusCode::NOT_FOUND, "the server is at /mcp"),
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
    use super::*;

    #[test]
    fn tokens_are_compared_whole() {
        assert!(super::same(b"abc", b"abc"));
        assert!(!super::same(b"abc", b"abd") && !super::same(b"abc", b"ab") && !super::same(b"", b"a"));
    }

    #[test]
    fn only_the_servers_own_names_are_its_names() {
        let asked = |hosts: &[&str], origins: &[&str], authority: Option<&str>| {
            let mut headers = HeaderMap::new();
            for (name, values) in [(HOST, hosts), (ORIGIN, origins)] {
                for value in values {
                    headers.append(&name, value.parse().expect("a header"));
                }
            }
            is_ours(&headers, authority, &names(7777))
        };
        for host in ["localhost:7777", "127.0.0.1:7777", "[::1]:7777"] {
            assert!(asked(&[host], &[], None) && asked(&[host], &[&format!("http://{host}")], Some(host)));
        }
        let good = "127.0.0.1:7777";
        let mut foreign: Vec<String> = ["evil.com@127.0.0.1:7777", "127.0.0.1:7777@evil.com", "evil.com", "evil.com:7777", "", ":7777"]
            .iter()
            .chain(&["127.0.0.1", "localhost", "127.0.0.1:", "127.0.0.1:7778", "127.0.0.1:07777", "127.0.0.1:7777.", "localhost.:7777"])
            .chain(&["127.1:7777", "0:7777", "2130706433:7777", "0x7f.1:7777", "0.0.0.0:7777", "::1:7777", "[::]:7777", "[0::1]:7777"])
            .chain(&["[::ffff:127.0.0.1]:7777", "[::1%25lo]:7777", "localhost:7777.evil.com", "127.0.0.1.evil.com:7777"])
            .chain(&["localhost:7777, evil.com", "user:word@localhost:7777", "evil.com#@localhost:7777", "localhost:7777/evil.com"])
            .map(|s| s.to_string())
            .collect();
        foreign.push("127.0.0.1:7777 ".repeat(2));
        for host in &foreign {
            assert!(!asked(&[host], &[], None), "{host}");
            assert!(!asked(&[good], &[&format!("http://{host}")], None), "{host}");
            assert!(!asked(&[good], &[], Some(host)), "{host}");
        }
        for origin in ["null", "https://127.0.0.1:7777", "http://127.0.0.1:7777/", "file://", "127.0.0.1:7777", "Http://127.0.0.1:7777"] {
            assert!(!asked(&[good], &[origin], None), "{origin}");
        }
        assert!(!asked(&[], &[], None) && !asked(&[], &[], Some(good)), "no host");
        assert!(!asked(&[good, good], &[], None) && !asked(&[good], &["http://127.0.0.1:7777", "http://evil.com"], None), "two of them");
        assert!(names(80).contains(&"localhost".to_string()));
    }
}

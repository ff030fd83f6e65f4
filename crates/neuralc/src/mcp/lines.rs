//! Standard streams as lines of JSON. In: what a client writes; out: the lines that are JSON, for the server, and an answer to each that is
//! none.
//! Invariants: a line that is no JSON has an answer (JSON-RPC: -32700, without an id) and changes nothing for the next; a line is held in
//! memory up to a bound; answers are whole lines, never mixed with those of the server; all of them are written before the server ends.

use serde_json::{Value, json};
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, duplex};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

/// Bytes of a line.
const MOST: usize = 16 << 20;
/// Bytes that wait between the streams and the server.
const ROOM: usize = 1 << 16;

/// What a line is.
enum Line {
    Json(Vec<u8>),
    Blank,
    Other(&'static str),
    End,
}

/// The streams for the server, and the work that ends when all it wrote is out.
pub(super) fn checked() -> ((DuplexStream, DuplexStream), JoinHandle<io::Result<()>>) {
    let (stdin, stdout) = rmcp::transport::stdio();
    let (mut to_server, from_client) = duplex(ROOM);
    let (to_client, from_server) = duplex(ROOM);
    let out = Arc::new(Mutex::new(stdout));
    let answers = out.clone();
    let reading = async move {
        let mut stdin = BufReader::new(stdin);
        loop {
            match line(&mut stdin).await? {
                Line::Json(line) => to_server.write_all(&line).await?,
                Line::Blank => {}
                Line::Other(why) => {
                    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": format!("Parse error: {why}")}});
                    put(&answers, format!("{error}\n").as_bytes()).await?;
                }
                Line::End => return Ok::<(), io::Error>(()),
            }
        }
    };
    let reading = tokio::spawn(reading);
    let writing = tokio::spawn(async move {
        let mut from_server = BufReader::new(from_server);
        let mut line = Vec::new();
        while from_server.read_until(b'\n', &mut line).await? > 0 {
            put(&out, &line).await?;
            line.clear();
        }
        // The server has ended, whoever may still write to it.
        reading.abort();
        Ok(())
    });
    ((from_client, to_client), writing)
}

async fn put(out: &Mutex<impl AsyncWrite + Unpin>, line: &[u8]) -> io::Result<()> {
    let mut out = out.lock().await;
    out.write_all(line).await?;
    out.flush().await
}

/// The next line, with its end.
async fn line(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Line> {
    let mut line = Vec::new();
    if (&mut *from).take(MOST as u64 + 1).read_until(b'\n', &mut line).await? == 0 {
        return Ok(Line::End);
    }
    if line.len() > MOST {
        while line.last() != Some(&b'\n') {
            line.clear();
            if (&mut *from).take(ROOM as u64).read_until(b'\n', &mut line).await? == 0 {
                break;
            }
        }
        return Ok(Line::Other("the line is longer than 16 MiB"));
    }
    if line.last() != Some(&b'\n') {
        line.push(b'\n');
    }
    let text = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
    Ok(match serde_json::from_slice::<Value>(text) {
        _ if text.trim_ascii().is_empty() => Line::Blank,
        Ok(_) => Line::Json(line),
        Err(_) => Line::Other("a message is one line of JSON"),
    })
}

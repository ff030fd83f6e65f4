//! `neuralc mcp`: a whole session in lines of JSON, what a call may cost, which files it may touch, and who is answered over HTTP.
#![cfg(feature = "mcp")]

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A session over standard streams.
struct Session {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    number: u64,
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Session {
    fn new(root: &Path, more: &[&str]) -> Session {
        let mut child = Command::new(env!("CARGO_BIN_EXE_neuralc"))
            .args(["mcp", "--root", root.to_str().expect("UTF-8")])
            .args(more)
            .env("SECRET_KEY", "xyzzy")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("neuralc starts");
        let (input, output) = (child.stdin.take().expect("piped"), BufReader::new(child.stdout.take().expect("piped")));
        let mut session = Session { child, input, output, number: 0 };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}});
        let answer = session.ask("initialize", hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "neuralc");
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        session
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("the server reads");
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let id = self.number;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).expect("a line"), 0, "the server ended");
            let answer: Value = serde_json::from_str(&line).expect("a line of JSON");
            if answer["id"] == id {
                return answer;
            }
        }
    }

    /// What a tool gives: whether it is an error, and its structured content.
    fn call(&mut self, name: &str, arguments: Value) -> (bool, Value) {
        let answer = self.ask("tools/call", json!({"name": name, "arguments": arguments}));
        let result = &answer["result"];
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().expect("text")).expect("JSON");
        assert_eq!(text, result["structuredContent"]);
        (result["isError"] == true, result["structuredContent"].clone())
    }

    fn code(&mut self, name: &str, arguments: Value) -> String {
        let (wrong, found) = self.call(name, arguments);
        assert!(wrong, "{found}");
        for d in found["diagnostics"].as_array().expect("diagnostics") {
            assert!(d["code"].is_string() && d["message"].is_string() && d["help"].is_string() && d.get("span").is_some(), "{d}");
        }
        found["diagnostics"][0]["code"].as_str().expect("a code").to_string()
    }
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("root");
    std::fs::create_dir(&root).expect("a folder");
    let line = "x,y\n0,1\n1,3.1\n2,4.9\n3,7.05\n4,9\n";
    for (name, text) in
        [("secret.scm", "(define (f x) x) secret"), ("root/line.csv", line), ("root/m.scm", "(param a 1)(param b 1)(+ a (* b x))")]
    {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

#[test]
fn the_tools_are_few_and_their_schemas_small() {
    let folder = folder();
    let mut session = Session::new(&folder.path().join("root"), &[]);
    let listed = session.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    let names: Vec<&str> = tools.iter().filter_map(|t| t["name"].as_str()).collect();
    assert!(names.len() <= 8 && names.starts_with(&["check", "run", "fit", "simulate", "show", "library", "refine"]), "{names:?}");
    assert!(tools.iter().all(|t| t["inputSchema"]["type"] == "object" && t["description"].is_string()));
    let size = listed["result"].to_string().len();
    assert!(size <= 6000, "{size} characters are more than 1,500 tokens");
}

#[test]
fn a_session_from_a_mistake_to_a_module() {
    let folder = folder();
    let root = folder.path().join("root");
    let mut session = Session::new(&root, &[]);
    let (wrong, found) = session.call("check", json!({"text": "(sqrtt x)"}));
    let d = &found["diagnostics"][0];
    assert!(
        wrong && d["code"] == "unknown-function" && d["span"]["start"] == 1 && d["help"].as_str().expect("help").contains("sqrt"),
        "{d}"
    );
    assert_eq!(session.call("check", json!({"text": "(log x)", "ranges": {"x": [1, null]}})).1["inputs"], json!(["x"]));
    assert_eq!(session.code("check", json!({"text": "(log x)", "ranges": {"x": [-1, 1]}})), "domain-may-be-left");
    let run = json!({"text": "m*v^2/2", "syntax": "infix", "inputs": {"m": 2, "v": 3}, "derivatives": "grad"});
    assert_eq!(session.call("run", run).1, json!({"value": 9.0, "grad": {"m": 4.5, "v": 6.0}}));
    let vector = json!({"text": "(dot a b)", "inputs": {"a": [1, 2], "b": [3, 4]}});
    assert_eq!(session.call("run", vector).1["value"], 11.0);
    let fit = json!({"file": "m.scm", "data": "line.csv", "target": "y", "save": "fitted.scm", "options": {"seed": 1}});
    let (wrong, found) = session.call("fit", fit);
    assert!(!wrong && found.to_string().contains("\"b\""), "{found}");
    assert!(std::fs::read_to_string(root.join("fitted.scm")).expect("a file").contains("; fit: "));
    let (_, table) = session.call("simulate", json!({"file": "fitted.scm", "data": "line.csv"}));
    assert_eq!(table["csv"].as_str().expect("a table").lines().count(), 6);
    let decay = json!({"text": "(param k 1)(state x 1)(derive x (- (* k x)))", "until": 1, "points": 3, "inputs": {"k": 0}});
    assert_eq!(session.call("simulate", decay).1["csv"], "t,x\n0.0,1.0\n0.5,1.0\n1.0,1.0\n");
    // Two constants explain the five rows; whoever names a file outside, or no column, is told.
    let (wrong, found) = session.call("refine", json!({"data": "line.csv", "target": "y", "budget": 5}));
    assert!(!wrong && found["best"]["text"].is_string() && found["front"].is_array(), "{found}");
    assert_eq!(session.code("refine", json!({"target": "y"})), "bad-argument");
    assert!(session.call("show", json!({"text": "(/ a b)"})).1["text"].as_str().expect("text").contains("\\frac"));
    assert!(session.call("show", json!({"text": "(* a b)", "as": "graph"})).1["regions"].is_array());
    assert_eq!(session.call("reference", json!({"query": "sin"})).1["entries"][0]["usage"], "(sin x)");
    // A library that is made by its owner, then written by the client.
    assert_eq!(session.code("library", json!({"action": "list"})), "no-library");
    let library = root.join("library");
    assert!(
        Command::new(env!("CARGO_BIN_EXE_neuralc"))
            .args(["library", "init", "--library"])
            .arg(&library)
            .status()
            .expect("it runs")
            .success()
    );
    let add = json!({"action": "add", "name": "energy", "text": "(* 0.5 m (square v))", "examples": ["m=2, v=3 => 9"]});
    assert_eq!(session.call("library", add).1["version"], 1);
    assert_eq!(session.code("library", json!({"action": "add", "name": "e2", "text": "(* 0.5 a (square b))"})), "equal-module");
    assert_eq!(session.call("library", json!({"action": "search", "query": "energy"})).1["result"][0]["name"], "energy");
    // It is written by its own tool alone.
    let given = json!({"file": "m.scm", "target": "y", "data": "line.csv", "save": "library/library.lock"});
    assert_eq!(session.code("fit", given), "outside-root");
    assert_eq!(session.call("run", json!({"text": "(use energy@1) (energy 2 3)"})).1["value"], 9.0);
    let listed = session.ask("resources/list", json!({}));
    let uris: Vec<&str> = listed["result"]["resources"].as_array().expect("resources").iter().filter_map(|r| r["uri"].as_str()).collect();
    assert!(uris.contains(&"neuralc://spec/forms") && uris.contains(&"neuralc://library/energy@1"), "{uris:?}");
    let page = session.ask("resources/read", json!({"uri": "neuralc://spec/forms"}));
    assert!(page["result"]["contents"][0]["text"].as_str().expect("text").contains("`define`"));
    let module = session.ask("resources/read", json!({"uri": "neuralc://library/energy@1"}));
    assert_eq!(module["result"]["contents"][0]["text"], "(* 0.5 m (square v))\n");
    assert!(session.ask("resources/read", json!({"uri": "neuralc://spec/../Cargo"}))["error"]["code"].is_i64());
    assert!(session.ask("tools/call", json!({"name": "delete", "arguments": {}}))["error"]["code"].is_i64());
}

#[test]
fn files_outside_of_the_folder_are_not_touched() {
    let folder = folder();
    let root = folder.path().join("root");
    let outside = folder.path().join("secret.scm");
    let mut session = Session::new(&root, &[]);
    let absolute = outside.to_str().expect("UTF-8");
    for path in ["../secret.scm", absolute, "/etc/passwd", "m.scm/../../secret.scm"] {
        assert_eq!(session.code("run", json!({"file": path})), "outside-root");
        assert_eq!(session.code("fit", json!({"file": "m.scm", "target": "y", "data": path})), "outside-root");
        assert_eq!(session.code("fit", json!({"file": "m.scm", "target": "y", "data": "line.csv", "save": "../new.scm"})), "outside-root");
        assert_eq!(session.code("library", json!({"action": "search", "samples": path})), "outside-root");
    }
    // What a program uses, written so and through a link.
    #[cfg(unix)]
    std::os::unix::fs::symlink(&outside, root.join("link.scm")).expect("a link");
    for path in ["../secret.scm", absolute, "link.scm"] {
        let (wrong, found) = session.call("run", json!({"text": format!("(use \"{path}\" (f)) (f 1)")}));
        assert!(wrong && found["diagnostics"][0]["code"] == "cannot-use" && !found.to_string().contains("define"), "{found}");
    }
    // What looks like an option is none; what is unknown is named.
    assert_eq!(session.code("run", json!({"text": "x", "inputs": {"--grad": 1}})), "unknown-input");
    assert_eq!(session.code("run", json!({"file": "--help"})), "cannot-read");
    assert_eq!(
        session.code("fit", json!({"file": "m.scm", "data": "line.csv", "target": "y", "options": {"plot": "x.svg"}})),
        "bad-argument"
    );
    assert_eq!(session.code("run", json!({"txt": "x"})), "bad-argument");
    assert_eq!(session.code("run", json!({"text": 3})), "bad-argument");
    assert!(!folder.path().join("new.scm").exists());
}

#[test]
fn calls_are_bounded() {
    let folder = folder();
    let endless = json!({"text": "(loop ((i 0) (s 0)) (if (< i 1e18) (recur (+ i 1) (+ s (sin i))) s))"});
    let mut session = Session::new(&folder.path().join("root"), &["--call-seconds", "1"]);
    let code = session.code("run", endless);
    assert!(["limit-time", "limit-iterations", "limit-steps"].contains(&code.as_str()), "{code}");
    // The server goes on.
    assert_eq!(session.call("run", json!({"text": "(+ 1 1)"})).1["value"], 2.0);
    // Longer than a second, or than a table may be: which of the two depends on the machine.
    let long = json!({"text": "(param k 1)(state x 1)(derive x (- (* k x)))", "until": 1, "points": 1_000_000});
    let code = session.code("simulate", long);
    assert!(code.starts_with("limit-"), "{code}");
    let mut session = Session::new(&folder.path().join("root"), &["--call-memory", "60000000"]);
    let code = session.code("run", json!({"text": "(vsum (linspace 0 1 10000000))"}));
    assert!(code.starts_with("limit-"), "{code}");
}

/// The processes that another has started.
#[cfg(target_os = "linux")]
fn started_by(parent: u32) -> Vec<u32> {
    let own = |id: &u32| {
        // Behind the name, which may have anything in it: state, parent.
        let status = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let fields: Vec<&str> = status.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        fields.get(1) == Some(&parent.to_string().as_str()) && fields[0] != "Z"
    };
    let all = std::fs::read_dir("/proc").expect("processes").filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok());
    all.filter(own).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn calls_end_with_the_server() {
    let folder = folder();
    let mut session = Session::new(&folder.path().join("root"), &["--call-seconds", "3000"]);
    let endless = json!({"text": "(loop ((i 0) (s 0)) (if (< i 1e18) (recur (+ i 1) (+ s (sin i))) s))"});
    let call = json!({"name": "run", "arguments": endless});
    session.send(&json!({"jsonrpc": "2.0", "id": 1000, "method": "tools/call", "params": call}));
    let server = session.child.id();
    let mut calls = started_by(server);
    while calls.is_empty() {
        assert!(session.child.try_wait().expect("a process").is_none(), "the server ended");
        std::thread::sleep(std::time::Duration::from_millis(1));
        calls = started_by(server);
    }
    session.child.kill().expect("a process");
    session.child.wait().expect("a process");
    let alive = |id: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        status.rsplit(')').next().is_some_and(|rest| !rest.trim_start().starts_with('Z') && !rest.is_empty())
    };
    // They are killed at once, how soon that is seen is the machine's; by themselves they would go on for 3000 s.
    let begun = std::time::Instant::now();
    while calls.iter().any(alive) {
        assert!(begun.elapsed().as_secs() < 1500, "calls outlive the server: {calls:?}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// A request over HTTP: status and body.
fn post(port: u16, headers: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
    let length = body.len();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nConnection: close\r\n\
         Content-Length: {length}\r\n{headers}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).expect("a socket");
    let mut answer = String::new();
    let mut part = [0; 4096];
    while let Ok(n @ 1..) = stream.read(&mut part) {
        answer.push_str(&String::from_utf8_lossy(&part[..n]));
        if answer.contains("serverInfo") {
            break;
        }
    }
    (answer.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0), answer)
}

/// A server over HTTP, its port, and the header its clients send (empty without a token).
struct Served(Child, u16, String);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Served {
    fn new(root: &Path, more: &[&str]) -> Served {
        let mut child = Command::new(env!("CARGO_BIN_EXE_neuralc"))
            .args(["mcp", "--http", "0", "--root"])
            .arg(root)
            .args(more)
            .env_remove("NEURALC_MCP_TOKEN")
            .stderr(Stdio::piped())
            .spawn()
            .expect("neuralc starts");
        let mut said = BufReader::new(child.stderr.take().expect("piped")).lines();
        let address = said.next().expect("a line").expect("text");
        let port = address.trim_start_matches("http://127.0.0.1:").trim_end_matches("/mcp").parse().expect("a port");
        let token = if more.is_empty() { format!("{}\r\n", said.next().expect("a line").expect("text")) } else { String::new() };
        Served(child, port, token)
    }

    fn hello(&self, headers: &str) -> (u16, String) {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}});
        post(self.1, headers, &hello.to_string())
    }
}

#[test]
fn over_http_only_those_with_the_token_are_answered() {
    let folder = folder();
    let server = Served::new(&folder.path().join("root"), &[]);
    let (port, token) = (server.1, server.2.trim_end());
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    let status = |headers: &str| server.hello(headers).0;
    assert_eq!(status(&host), 401);
    assert_eq!(status(&format!("{host}Authorization: Bearer wrong\r\n")), 401);
    assert_eq!(status(&format!("{host}{token}x\r\n")), 401);
    let (code, body) = server.hello(&format!("{host}{token}\r\nOrigin: http://127.0.0.1:{port}\r\n"));
    assert!(code == 200 && body.contains("\"serverInfo\""), "{body}");
}

#[test]
fn over_http_only_the_servers_own_names_are_answered() {
    let folder = folder();
    for more in [&[][..], &["--without-token"]] {
        let server = Served::new(&folder.path().join("root"), more);
        let (port, token) = (server.1, &server.2);
        let other = port ^ 1;
        let status = |host: &str, more: &str| server.hello(&format!("{host}{token}{more}")).0;
        let host = format!("Host: 127.0.0.1:{port}\r\n");
        assert_eq!((status(&host, ""), status(&host, &format!("Origin: http://localhost:{port}\r\n"))), (200, 200));
        assert_eq!(status(&format!("Host: localhost:{port}\r\n"), ""), 200);
        for bad in [
            "evil.example".to_string(),
            "evil.com@127.0.0.1".into(),
            format!("evil.com@127.0.0.1:{port}"),
            format!("evil.com:80@localhost:{port}"),
            "127.0.0.1".into(),
            "localhost".into(),
            format!("127.0.0.1:{other}"),
            format!("127.0.0.1:0{port}"),
            format!("127.1:{port}"),
            format!("0.0.0.0:{port}"),
            format!("localhost.:{port}"),
        ] {
            // The protocol itself knows no user in a host: some of these are no requests at all.
            assert!([400, 403].contains(&status(&format!("Host: {bad}\r\n"), "")), "{bad}");
            assert_eq!(status(&host, &format!("Origin: http://{bad}\r\n")), 403, "{bad}");
        }
        for bad in ["null".to_string(), format!("https://127.0.0.1:{port}"), format!("http://127.0.0.1:{port}/"), "file://".into()] {
            assert_eq!(status(&host, &format!("Origin: {bad}\r\n")), 403, "{bad}");
        }
        assert!([400, 403].contains(&status("", "")), "no host");
        assert!([400, 403].contains(&status(&format!("{host}Host: evil.example\r\n"), "")), "two hosts");
    }
}

#[test]
fn a_line_that_is_no_json_is_answered_and_the_next_one_too() {
    let folder = folder();
    let mut session = Session::new(&folder.path().join("root"), &[]);
    for line in ["{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\"", "no JSON at all", "{\"a\": 1}}", "\u{1}"] {
        writeln!(session.input, "{line}").expect("the server reads");
        let mut answer = String::new();
        session.output.read_line(&mut answer).expect("a line");
        let answer: Value = serde_json::from_str(&answer).expect("a line of JSON");
        assert_eq!((&answer["error"]["code"], answer.get("id")), (&json!(-32700), Some(&Value::Null)), "{line}: {answer}");
        assert_eq!(session.call("run", json!({"text": "(+ 1 1)"})).1["value"], 2.0, "after {line}");
    }
    // Bytes that are no text, and blank lines, which are nothing.
    session.input.write_all(b"\xff\xfe\n\n  \n").expect("the server reads");
    let mut answer = String::new();
    session.output.read_line(&mut answer).expect("a line");
    assert!(answer.contains("-32700"), "{answer}");
    assert_eq!(session.call("run", json!({"text": "(+ 1 2)"})).1["value"], 3.0);
}

#[test]
fn before_a_session_begins_a_line_that_is_no_json_is_answered() {
    let folder = folder();
    let mut child = Command::new(env!("CARGO_BIN_EXE_neuralc"))
        .args(["mcp", "--root"])
        .arg(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("neuralc starts");
    let mut input = child.stdin.take().expect("piped");
    // The last line has no end: it is one all the same.
    input.write_all(b"{oops\nnonsense").expect("the server reads");
    drop(input);
    let done = child.wait_with_output().expect("it ends");
    let said = String::from_utf8(done.stdout).expect("text");
    let lines: Vec<Value> = said.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    assert!(done.status.success() && lines.len() == 2 && lines.iter().all(|l| l["error"]["code"] == -32700), "{lines:?}");
}

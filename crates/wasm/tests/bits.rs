//! The module computes the same schedules as the native library, to the bit:
//! Node runs it and both print the fingerprint of the same boards. And its idle
//! governors decide as those of the kernel.

use dormouse_sleep::simulate::fingerprint::fingerprint;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const BOARDS: u64 = 24;

/// Answers the requests on its input, one a line.
const SCRIPT: &str = r#"
const fs = require("node:fs");
const [file] = process.argv.slice(1);
const requests = fs.readFileSync(0, "utf8").trim().split("\n");
WebAssembly.instantiate(fs.readFileSync(file), {}).then(({ instance }) => {
  const { memory, alloc, call, free } = instance.exports;
  for (const request of requests) {
    const bytes = new TextEncoder().encode(request);
    const at = alloc(bytes.length);
    new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
    const answer = call(at, bytes.length);
    const length = new DataView(memory.buffer).getUint32(answer, true);
    const text = new TextDecoder().decode(new Uint8Array(memory.buffer, answer + 4, length));
    free(at, bytes.length);
    free(answer, length + 4);
    console.log(text);
  }
});
"#;

/// What the module answers under Node, one line a request; `None`, said
/// loudly, where it cannot be built or run here.
fn answers(requests: &str) -> Option<Vec<String>> {
    if Command::new("node").arg("--version").output().is_err() {
        println!("SKIPPED: node is not installed, so WebAssembly was not run");
        return None;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // As tools/web builds it, so that nothing is built twice: without what tools/test wraps
    // around the compiler.
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--profile", "small", "-p", "dormouse-wasm"])
        .args(["--target", "wasm32-unknown-unknown", "--target-dir", "target"])
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .current_dir(&root)
        .output()
        .expect("cargo runs");
    let stderr = String::from_utf8_lossy(&built.stderr);
    if stderr.contains("may not be installed") || stderr.contains("can't find crate for `core`") {
        println!("SKIPPED: the target wasm32-unknown-unknown is not installed");
        return None;
    }
    assert!(built.status.success(), "{stderr}");
    let module = root.join("target/wasm32-unknown-unknown/small/dormouse_wasm.wasm");
    let mut node = Command::new("node")
        .args(["-e", SCRIPT])
        .arg(&module)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("node runs");
    // Node reads all requests before it answers, so neither side waits.
    node.stdin.take().expect("a pipe").write_all(requests.as_bytes()).expect("node reads");
    let out = node.wait_with_output().expect("node ends");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    Some(String::from_utf8_lossy(&out.stdout).lines().map(str::to_owned).collect())
}

#[test]
fn schedules_under_node_are_the_native_ones() {
    let request = format!("{{\"do\":\"fingerprint\",\"boards\":{BOARDS}}}\n");
    let Some(said) = answers(&request) else { return };
    assert_eq!(said, [format!("{{\"ok\":\"{:016x}\"}}", fingerprint(BOARDS))]);
}

/// The request of a file of golden decisions (made by unmodified governor
/// sources) and the answer it wants.
fn golden(text: &str) -> (String, String) {
    let mut lines = text.lines().map(|l| serde_json::from_str::<Value>(l).expect("JSON"));
    let header = lines.next().expect("a header");
    let states: Vec<Value> = header["states"]
        .as_array()
        .expect("states")
        .iter()
        .map(|s| json!([s["lat_ns"], s["res_ns"], s["poll"] == 1]))
        .collect();
    let mut now = json!(1_000_000);
    let (mut episodes, mut want) = (Vec::new(), Vec::new());
    for v in lines {
        episodes.push(json!({
            "disabled": v["dis"], "limit": v["lr"], "tick_stopped": v["ts"] == 1,
            "timer": v["sl"], "event": v["dt"], "now": now,
            "entered": if v["ent"] == -1 { Value::Null } else { v["ent"].clone() },
            "residency": v["res"], "poll_limit": v["ptl"] == 1, "tick": v["gt"] == 1,
            "awake": v["clk"],
        }));
        want.push(json!([v["idx"], v["st"] == 1, v["called"] == 1]));
        now = v["clk"].clone();
    }
    let ask = json!({
        "governor": header["governor"], "kernel": header["kernel"],
        "tick": header["tick_ns"], "states": states, "episodes": episodes,
    });
    (json!({ "do": "idle", "ask": ask }).to_string(), json!({ "ok": want }).to_string())
}

#[test]
fn governors_under_node_decide_as_the_kernels() {
    let root = std::env::var_os("DORMOUSE_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let folder = root.join("idle/governor-vectors");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("SKIPPED: {} is not here; DORMOUSE_DATA names it", folder.display());
        return;
    };
    let mut files: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    files.sort();
    files.retain(|p| {
        let name = p.file_name().expect("a name").to_string_lossy();
        name.ends_with(".jsonl.gz") && !name.starts_with("simple_ondemand")
    });
    assert!(files.len() >= 44, "{} files of decisions", files.len());
    let (mut requests, mut wanted) = (String::new(), Vec::new());
    for path in &files {
        let mut text = String::new();
        let file = std::fs::File::open(path).expect("a readable file");
        flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("gzip text");
        let (request, want) = golden(&text);
        requests += &request;
        requests.push('\n');
        wanted.push(want);
    }
    let Some(said) = answers(&requests) else { return };
    assert_eq!(said.len(), wanted.len());
    for (path, (said, want)) in files.iter().zip(said.iter().zip(&wanted)) {
        assert!(said == want, "{} differs", path.display());
    }
}

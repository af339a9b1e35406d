//! The module computes the same schedules as the native library, to the bit:
//! Node runs it and both print the fingerprint of the same boards.

use dormouse_sleep::simulate::fingerprint::fingerprint;
use std::path::Path;
use std::process::Command;

const BOARDS: u64 = 24;

const SCRIPT: &str = r#"
const fs = require("node:fs");
const [file, request] = process.argv.slice(1);
WebAssembly.instantiate(fs.readFileSync(file), {}).then(({ instance }) => {
  const { memory, alloc, call, free } = instance.exports;
  const bytes = new TextEncoder().encode(request);
  const at = alloc(bytes.length);
  new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
  const answer = call(at, bytes.length);
  const length = new DataView(memory.buffer).getUint32(answer, true);
  const text = new TextDecoder().decode(new Uint8Array(memory.buffer, answer + 4, length));
  free(at, bytes.length);
  free(answer, length + 4);
  console.log(text);
});
"#;

#[test]
fn schedules_under_node_are_the_native_ones() {
    if Command::new("node").arg("--version").output().is_err() {
        println!("SKIPPED: node is not installed, so WebAssembly was not run");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // As tools/web builds it, so that nothing is built twice.
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--profile", "wasm", "-p", "dormouse-wasm"])
        .args(["--target", "wasm32-unknown-unknown", "--target-dir", "target"])
        .current_dir(&root)
        .output()
        .expect("cargo runs");
    let stderr = String::from_utf8_lossy(&built.stderr);
    if stderr.contains("may not be installed") || stderr.contains("can't find crate for `core`") {
        println!("SKIPPED: the target wasm32-unknown-unknown is not installed");
        return;
    }
    assert!(built.status.success(), "{stderr}");
    let module = root.join("target/wasm32-unknown-unknown/wasm/dormouse_wasm.wasm");
    let request = format!("{{\"do\":\"fingerprint\",\"boards\":{BOARDS}}}");
    let node = Command::new("node")
        .args(["-e", SCRIPT])
        .arg(&module)
        .arg(&request)
        .output()
        .expect("node runs");
    let said = String::from_utf8_lossy(&node.stdout);
    let expected = format!("{{\"ok\":\"{:016x}\"}}", fingerprint(BOARDS));
    assert_eq!(said.trim(), expected, "{}", String::from_utf8_lossy(&node.stderr));
}

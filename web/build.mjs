// Builds dist/page.html and dist/idle.html, whole pages but for their data and the
// simulator, and dist/simulator.z: the simulator, deflated. Usage:
//   node build.mjs [simulator.wasm]
// The two placeholders left, <!--dormouse:simulator--> and <!--dormouse:data-->, are
// filled by crates/report.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { bundled, here, policy, source, styled } from "./bundle.mjs";

const css = await styled("style/page.css");
mkdirSync(join(here, "dist"), { recursive: true });
const wasm = process.argv[2];
const simulator = wasm ? deflateSync(readFileSync(wasm), { level: 9 }) : new Uint8Array();
writeFileSync(join(here, "dist/simulator.z"), simulator);
// Five letters for four bytes (crates/report/src/letters.rs).
const letters = Math.ceil((simulator.length * 5) / 4);
const place = wasm ? '<script type="text/plain" id="simulator"><!--dormouse:simulator--></script>\n' : "";
for (const [skeleton, entry] of [
  ["page.html", "src/main.ts"],
  ["idle.html", "src/idle/main.ts"],
]) {
  const script = await bundled(entry);
  const parts = { csp: policy(script, css), css, script, howto: source("howto.html"), data: `${place}<!--dormouse:data-->` };
  const from = skeleton === "page.html" ? "index.html" : skeleton;
  const page = source(from).replace("{{head}}", source("head.html")).replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
  writeFileSync(join(here, "dist", skeleton), `${page}\n`);
  const all = page.length + letters;
  console.log(`${skeleton} without data: ${all} bytes (script ${script.length}, style ${css.length}, simulator ${letters})`);
}

// Builds dist/page.html and dist/idle.html, whole pages but for their data and the
// simulator, and dist/simulator.z: the simulator, deflated. Usage:
//   node build.mjs [simulator.wasm]
// The two placeholders left, <!--dormouse:simulator--> and <!--dormouse:data-->, are
// filled by crates/report.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateSync } from "node:zlib";
import esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const source = (name) => readFileSync(join(here, "src", name), "utf8").trim();

async function bundled(entry) {
  const bundle = await esbuild.build({
    entryPoints: [join(here, entry)],
    bundle: true,
    write: false,
    minify: true,
    format: "iife",
    target: ["chrome111", "firefox115", "safari16.4"],
    charset: "utf8",
    legalComments: "none",
  });
  const script = bundle.outputFiles[0].text.trim();
  // Inside <script>, these two would end or confuse the element.
  if (/<\/script|<!--/i.test(script)) throw new Error("the script holds text that HTML would misread");
  return script;
}
const css = (await esbuild.transform(source("style/page.css"), { loader: "css", minify: true })).code.trim();

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = (script) =>
  [
    "default-src 'none'",
    `script-src ${hash(script)} 'wasm-unsafe-eval'`,
    `style-src ${hash(css)}`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");

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
  const parts = { csp: policy(script), css, script, howto: source("howto.html"), data: `${place}<!--dormouse:data-->` };
  const from = skeleton === "page.html" ? "index.html" : skeleton;
  const page = source(from).replace("{{head}}", source("head.html")).replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
  writeFileSync(join(here, "dist", skeleton), `${page}\n`);
  const all = page.length + letters;
  console.log(`${skeleton} without data: ${all} bytes (script ${script.length}, style ${css.length}, simulator ${letters})`);
}

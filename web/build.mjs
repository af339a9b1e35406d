// Builds dist/page.html and dist/idle.html, whole pages but for their data, and
// dist/simulator.z. Usage:
//   node build.mjs [simulator.wasm]
// The one placeholder left is <!--dormouse:data-->, which crates/report fills.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import esbuild from "esbuild";
import { letters, packed } from "./packed.mjs";

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

let wasm = "";
mkdirSync(join(here, "dist"), { recursive: true });
if (process.argv[2]) {
  // crates/report keeps the bytes, and the pages without them.
  const bytes = await packed(readFileSync(process.argv[2]));
  writeFileSync(join(here, "dist/simulator.z"), bytes);
  wasm = `<script type="text/plain" id="simulator">${letters(bytes)}</script>\n`;
}
for (const [skeleton, entry] of [
  ["page.html", "src/main.ts"],
  ["idle.html", "src/idle/main.ts"],
]) {
  const script = await bundled(entry);
  const parts = { csp: policy(script), css, script, howto: source("howto.html"), data: `${wasm}<!--dormouse:data-->` };
  const from = skeleton === "page.html" ? "index.html" : skeleton;
  const page = source(from).replace("{{head}}", source("head.html")).replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
  writeFileSync(join(here, "dist", skeleton), `${page}\n`);
  console.log(`${skeleton} without data: ${page.length} bytes (script ${script.length}, style ${css.length}, simulator ${wasm.length})`);
}

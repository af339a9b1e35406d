// Compiles test/*.ts and runs them with Node's test runner:
//   node test.mjs                     every test
//   node test.mjs only NAME…          page, safe, size, whatif, command, reads, firefox
//   node test.mjs command WASM [N]      the page's command beside the machine's, N damaged inputs
//   node test.mjs look REPORT FOLDER      screenshots to look at
//   node test.mjs pictures REPORT FOLDER  pictures of the docs
//   node test.mjs measure REPORT…         size and times in the browser

import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "dist/test");
const sources = readdirSync(join(here, "test")).filter((f) => f.endsWith(".ts"));
await esbuild.build({
  entryPoints: sources.map((f) => join(here, "test", f)),
  outdir: out,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  packages: "external",
  platform: "node",
  format: "esm",
  target: "node20",
  sourcemap: "inline",
});
const [tool, ...rest] = process.argv.slice(2);
const wanted = tool === "only" ? rest.map((name) => `${name}.test.ts`) : sources.filter((f) => f.endsWith(".test.ts"));
const tests = wanted.map((f) => join(out, f.replace(/\.ts$/, ".mjs")));
const command = tool && tool !== "only" ? [join(out, `${tool}.mjs`), ...rest] : ["--test", "--test-concurrency=1", ...tests];
// Before version 22 Node has its WebSocket behind a flag.
const env = { ...process.env };
if (typeof WebSocket === "undefined") env.NODE_OPTIONS = `${env.NODE_OPTIONS ?? ""} --experimental-websocket`;
process.exit(spawnSync(process.execPath, command, { stdio: "inherit", env }).status ?? 1);

// Builds the page that reads, with the command in it. Usage:
//   node command.mjs dormouse.wasm OUTPUT
// The report that it makes runs inside it, so its policy lets the scripts of dist/page.html
// and dist/idle.html run too (node build.mjs makes them).

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { bundled, here, policy, source, styled } from "./bundle.mjs";

const [wasm, output] = process.argv.slice(2);

// As crates/report/src/letters.rs: 85 letters, five for four bytes.
const LETTERS = Array.from({ length: 87 }, (_, i) => String.fromCharCode(35 + i)).filter((c) => c !== "<" && c !== "\\");

function letters(bytes) {
  const out = [];
  for (let at = 0; at < bytes.length; at += 4) {
    const length = Math.min(4, bytes.length - at);
    let word = 0;
    for (let i = 0; i < 4; i++) word = word * 256 + (i < length ? bytes[at + i] : 0);
    let group = "";
    for (let i = 0; i < 5; i++, word = Math.floor(word / 85)) group = LETTERS[word % 85] + group;
    out.push(group.slice(0, length + 1));
  }
  return out.join("");
}

const rules = (page, name) => new RegExp(`${name}((?: 'sha256-[^']+')+)`).exec(page)[1].trim().split(" ");
const reports = ["page.html", "idle.html"].map((name) => readFileSync(join(here, "dist", name), "utf8"));
const script = await bundled("src/command/main.ts");
const worker = await bundled("src/command/worker.ts");
const css = await styled("style/page.css", "style/command.css");
const parts = {
  csp: policy(script, css, {
    scripts: reports.flatMap((page) => rules(page, "script-src")),
    styles: reports.flatMap((page) => rules(page, "style-src")),
    rules: ["worker-src blob:", "frame-src blob:", "connect-src 'none'"],
  }),
  css,
  script,
  worker,
  command: letters(deflateSync(readFileSync(wasm), { level: 9 })),
};
const page = `${source("command.html").replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name])}\n`;
writeFileSync(output, page);
console.log(`${output}: ${page.length} bytes (command ${parts.command.length}, script ${script.length + worker.length}, style ${css.length})`);

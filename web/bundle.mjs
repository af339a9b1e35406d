// What the pages' builders share: scripts and styles in one piece each, and the policy that
// lets a page run these alone.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import esbuild from "esbuild";

export const here = dirname(fileURLToPath(import.meta.url));
export const source = (name) => readFileSync(join(here, "src", name), "utf8").trim();

export async function bundled(entry) {
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

export async function styled(...names) {
  const all = names.map(source).join("\n");
  return (await esbuild.transform(all, { loader: "css", minify: true })).code.trim();
}

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** The policy of a page with this script and style; `more` is what else it needs. */
export const policy = (script, css, more = {}) =>
  [
    "default-src 'none'",
    `script-src ${[hash(script), ...(more.scripts ?? [])].join(" ")} 'wasm-unsafe-eval'`,
    `style-src ${[hash(css), ...(more.styles ?? [])].join(" ")}`,
    "img-src data:",
    ...(more.rules ?? []),
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");

// Opens reports in Debian's Chromium, from disk, as a user would.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";

export const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

/** Whether there is a browser; tests say loudly if there is none. */
export function haveBrowser(): boolean {
  const have = existsSync(CHROMIUM);
  if (!have) console.error(`SKIPPED: no browser at ${CHROMIUM}; install Debian's chromium`);
  return have;
}

export async function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

export interface Opened {
  page: Page;
  /** Errors of scripts, of the console, and everything the page asked for. */
  errors: string[];
  requests: string[];
}

/** Opens `file` from disk and waits until it is drawn. */
export async function open(
  browser: Browser,
  file: string,
  options: { width?: number; height?: number; dark?: boolean; scale?: number } = {},
): Promise<Opened> {
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1280, height: options.height ?? 900 },
    colorScheme: options.dark ? "dark" : "light",
    deviceScaleFactor: options.scale ?? 1,
  });
  const page = await context.newPage();
  const errors: string[] = [];
  const requests: string[] = [];
  page.on("pageerror", (e) => errors.push(String(e)));
  page.on("console", (m) => {
    if (m.type() === "error") errors.push(m.text());
  });
  page.on("dialog", (d) => {
    errors.push(`dialog: ${d.message()}`);
    void d.dismiss();
  });
  const url = `${pathToFileURL(file).href}?test`;
  page.on("request", (r) => {
    if (r.url() !== url) requests.push(r.url());
  });
  await page.goto(url);
  await page.waitForFunction(() => document.body.dataset["ready"] === "true", undefined, { timeout: 30_000 });
  return { page, errors, requests };
}

interface Violation {
  id: string;
  impact: string;
  nodes: { html: string; failureSummary: string }[];
}

/** What axe finds that is serious. */
export async function violations(page: Page): Promise<string[]> {
  const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  await page.evaluate(axe);
  const found = (await page.evaluate(() => (window as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } }).axe.run())).violations;
  return found
    .filter((v) => v.impact === "serious" || v.impact === "critical")
    .map((v) => `${v.id}: ${v.nodes[0]?.html.slice(0, 200) ?? ""} ${v.nodes[0]?.failureSummary ?? ""}`);
}

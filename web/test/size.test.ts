// Size and speed: 100 cycles of 5,000 devices, and the budgets of the page.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { haveBrowser, launch, open } from "./browser.ts";
import { drawn, firstPaint, frameTimes, median } from "./figures.ts";
import { haveData, OUT, report, ROOT, RUNS } from "./inputs.ts";

const skip = !haveBrowser();

let browser: Browser;
before(async () => {
  if (!skip) browser = await launch();
});
after(async () => {
  await browser?.close();
});

/** A made-up report; built by the crate's example. */
function large(cycles: number, devices: number): string {
  const file = join(OUT, `large-${cycles}-${devices}.html`);
  const args = ["run", "--quiet", "-p", "dormouse-report", "--example", "large", "--", String(cycles), String(devices), file];
  const run = spawnSync("cargo", args, { cwd: ROOT, encoding: "utf8" });
  if (run.status !== 0) throw new Error(run.stderr);
  return file;
}

/** The page without data: what was built, with the simulator in five letters for four bytes. */
function withoutData(): number {
  const size = (name: string) => statSync(join(ROOT, "web/dist", name)).size;
  return size("page.html") + Math.ceil((size("simulator.z") * 5) / 4);
}

test("the page without data is at most 1 MiB", () => {
  assert.ok(withoutData() <= 1024 * 1024, `${withoutData()} bytes`);
});

test("a cycle of 900 devices takes at most 60 KB in the page", { skip: !haveData() }, () => {
  const html = readFileSync(report("one", `${RUNS}/suspend-190921-145531`), "utf8");
  const data = html.length - withoutData();
  assert.ok(data <= 60 * 1024, `${data} bytes of data`);
});

test("100 cycles of 5,000 devices stay smooth and say what is left out", { skip }, async () => {
  const { page, errors } = await open(browser, large(100, 5000));
  assert.ok((await firstPaint(page)) < 1000);
  assert.ok((await drawn(page)) < 2000);
  assert.match((await page.textContent("#left-out")) ?? "", /full detail is embedded for the median cycle and the outliers/);
  for (const rows of ["thread", "tree"]) {
    await page.selectOption("#timeline-tools select", rows);
    const frames = await frameTimes(page);
    assert.ok(frames.length >= 60);
    assert.ok(median(frames) <= 8, `${rows}: ${median(frames)} ms of script per frame`);
  }
  assert.deepEqual(errors, []);
  await page.context().close();
});

test("what-if answers within 100 ms for 1,000 devices", { skip }, async () => {
  const { page } = await open(browser, large(3, 1000));
  const times: number[] = [];
  for (const kernel of ["6.1", "6.12", "6.16", "6.18", "DC"]) {
    await page.evaluate(() => delete document.getElementById("what-if")?.dataset["ms"]);
    await page.fill("#what-if-kernel", kernel);
    await page.locator("#what-if-kernel").blur();
    await page.waitForFunction(() => document.getElementById("what-if")?.dataset["ms"] !== undefined);
    times.push(Number(await page.getAttribute("#what-if", "data-ms")));
  }
  assert.ok(median(times) < 100, `${times.join(", ")} ms`);
  await page.context().close();
});

test("a million callbacks: the page says what it leaves out and does not freeze", { skip }, async () => {
  const { page, errors } = await open(browser, large(1, 130_000));
  assert.match((await page.textContent("#left-out")) ?? "", /left out/);
  assert.ok((await drawn(page)) < 5000);
  assert.deepEqual(errors, []);
  await page.context().close();
});

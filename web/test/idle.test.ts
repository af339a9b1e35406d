// The page of idle states: its answer, its strips, and a what-if that is the
// command line's.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { haveBrowser, launch, open } from "./browser.ts";
import { dormouse, report, ROOT } from "./inputs.ts";

const skip = !haveBrowser();
const fixtures = join(ROOT, "crates/cli/tests/fixtures");
const input = [join(fixtures, "idle-trace.txt"), join(fixtures, "idle-states.txt")];

let browser: Browser;
before(async () => {
  if (!skip) browser = await launch();
});
after(async () => {
  await browser?.close();
});

test("the answer comes first, and nothing is asked of a network", { skip }, async () => {
  const { page, errors, requests } = await open(browser, report("idle", ...input));
  const said = dormouse("idle", "show", ...input).replaceAll("\n  ", " ").split("\n");
  assert.equal(await page.textContent("#answer"), said[0]);
  assert.equal(await page.textContent("#trust"), said[1]);
  assert.deepEqual(errors, []);
  assert.deepEqual(requests, []);
  // The strips are drawn: the canvas has several colours.
  const colours = await page.evaluate(() => {
    const canvas = document.getElementById("timeline") as HTMLCanvasElement;
    const bytes = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
    const seen = new Set<string>();
    for (let i = 0; i < bytes.length; i += 4) seen.add(`${bytes[i]},${bytes[i + 1]},${bytes[i + 2]}`);
    return seen.size;
  });
  assert.ok(colours > 3, `${colours} colours`);
  assert.match((await page.getAttribute("#histogram svg", "aria-label")) ?? "", /C8 pays from 800 us/);
  await page.context().close();
});

test("a sleep says which CPU, whether its state was right, and how long it was", { skip }, async () => {
  const { page } = await open(browser, report("idle", ...input));
  const box = await page.locator("#timeline").boundingBox();
  assert.ok(box);
  await page.mouse.click(box.x + box.width / 2, box.y + 22 + 10);
  assert.match((await page.textContent("#detail")) ?? "", /^CPU 0: [\d.]+ ms in C8/);
  await page.context().close();
});

test("a change in the page is that of the command line", { skip }, async () => {
  const { page, errors } = await open(browser, report("idle", ...input));
  const cell = async (title: string): Promise<string> =>
    (await page.locator("#what-if-result tr", { hasText: title }).locator("td").nth(1).textContent()) ?? "";
  for (const [governor, limit] of [["menu", "50"], ["teo", ""], ["ladder", "2"]] as const) {
    await page.selectOption("#what-if-governor", governor);
    await page.fill("#what-if-limit", limit);
    await page.locator("#what-if-limit").blur();
    await page.waitForFunction((g) => document.querySelector("#what-if-result code")?.textContent?.includes(`--governor ${g}`), governor);
    const more = limit ? ["--latency-limit", `${limit}us`] : [];
    const was = await page.inputValue("#what-if-was");
    const said = JSON.parse(dormouse("idle", "predict", ...input, "--from-governor", was, "--governor", governor, ...more, "--json")) as {
      then: { model: { delay_ns: { p99: number }; too_deep: number; too_shallow: number; ended_by_tick: number } };
    };
    const model = said.then.model;
    const grouped = (n: number): string => n.toLocaleString("en-US");
    assert.equal(await cell("wake-up delay p99"), grouped(Math.round(model.delay_ns.p99 / 1_000)), governor);
    assert.equal(await cell("too deep"), grouped(model.too_deep), governor);
    assert.equal(await cell("too shallow"), grouped(model.too_shallow), governor);
    assert.equal(await cell("ended by the tick"), grouped(model.ended_by_tick), governor);
  }
  assert.deepEqual(errors, []);
  await page.context().close();
});

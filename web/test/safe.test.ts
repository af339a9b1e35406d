// What comes from a log is text, whatever it says; and everybody can use it.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { haveBrowser, launch, open, violations } from "./browser.ts";
import { haveData, HOSTILE, hostileTrace, report, RUNS } from "./inputs.ts";

const skip = !haveBrowser();

let browser: Browser;
before(async () => {
  if (!skip) browser = await launch();
});
after(async () => {
  await browser?.close();
});

test("hostile names are shown and do nothing", { skip }, async () => {
  const { page, errors, requests } = await open(browser, report("hostile", hostileTrace()));
  const hurt = (): Promise<unknown> => page.evaluate(() => (window as unknown as { hurt?: number }).hurt);
  assert.equal(await page.locator("#device-rows tr").count(), HOSTILE.length);
  const text = (await page.textContent("#device-rows")) ?? "";
  assert.ok(text.includes(`"><script>window.hurt=1</script>`));
  assert.ok(text.includes("&lt;b&gt;&amp;&#x27;"));
  assert.ok(text.includes("\\u{202e}") && !text.includes("\u202e"));
  assert.ok(text.includes("(10240 characters)"));
  for (const row of await page.locator("#device-rows button").all()) {
    await row.click();
    await page.locator("#detail h3").waitFor();
  }
  await page.selectOption("#timeline-tools select", "tree");
  await page.locator("#copy-markdown").click();
  const copied = (await page.locator("#copy-markdown").getAttribute("data-copied")) ?? "";
  assert.ok(!copied.includes("<script"));
  assert.ok(copied.split("\n").every((line) => line.length < 2000));
  await page.fill("#search", "<script>");
  assert.match((await page.textContent("#search-found")) ?? "", /^[1-9]/);
  assert.equal(await hurt(), undefined);
  assert.equal(await page.locator("main img, main iframe, main script").count(), 0);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 1280);
  assert.deepEqual(errors, []);
  assert.deepEqual(requests, []);
  await page.context().close();
});

test("axe finds nothing serious, in light and dark, with and without a selection", { skip: skip || !haveData() }, async () => {
  for (const dark of [false, true]) {
    const { page } = await open(browser, report("runs", RUNS), { dark });
    for (const closed of await page.locator("summary").all()) await closed.click();
    assert.deepEqual(await violations(page), []);
    await page.locator("#device-rows button").first().click();
    await page.locator('[data-whatif="without"]').click();
    await page.locator("#what-if-suspend_ns").waitFor();
    assert.deepEqual(await violations(page), []);
    await page.context().close();
  }
});

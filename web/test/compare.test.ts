// Two captures in one report: the page says what `dormouse compare` says.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { haveBrowser, launch, open } from "./browser.ts";
import { dormouse, report, ROOT } from "./inputs.ts";

const skip = !haveBrowser();
const captures = ["laptop-6.12", "laptop-7.3"].map((name) => join(ROOT, `captures/${name}.tar.gz`));

let browser: Browser;
before(async () => {
  if (!skip) browser = await launch();
});
after(async () => {
  if (!skip) await browser.close();
});

test("compare mode lists both captures and explains as the verb does", { skip }, async () => {
  const { page, errors } = await open(browser, report("two", ...captures));
  const section = page.locator("#compare");
  assert.ok(await section.isVisible());
  const buttons = page.locator("#captures button");
  assert.equal(await buttons.count(), 2);
  assert.equal(await buttons.nth(0).getAttribute("aria-pressed"), "true");
  const said = JSON.parse(dormouse("compare", "--json", ...captures)) as { sentences: string[][] };
  const shown = ((await section.textContent()) ?? "").replace(/\s+/g, " ");
  const tail = (s: string): string => s.replace(/^[^:]*: /, "").replace(/\s+/g, " ");
  for (const sentence of said.sentences[0] ?? []) assert.ok(shown.includes(tail(sentence)), `not on the page: ${sentence}`);
  await buttons.nth(1).click();
  assert.equal(await page.locator("#captures button").nth(1).getAttribute("aria-pressed"), "true");
  assert.deepEqual(errors, []);
  await page.close();
});

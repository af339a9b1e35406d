// The page that reads, in a browser: its answers are those of the command.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { haveBrowser, launch, open, violations, type Opened } from "./browser.ts";
import { BINARY, OUT, ROOT, slowLink, slowSync } from "./inputs.ts";

const FILE = join(ROOT, "target/page/dormouse.html");
const havePage = existsSync(FILE);
if (!havePage) console.error("SKIPPED: no target/page/dormouse.html; run make page");
const skip = !haveBrowser() || !havePage;
const CAPTURE = join(ROOT, "captures/laptop-6.12.tar.gz");

let browser: Browser;
before(async () => {
  if (!skip) browser = await launch();
});
after(async () => {
  await browser?.close();
});

/** Opens the page, with `files` given to it. */
async function given(files: string[], options: Parameters<typeof open>[2] = {}, html = FILE): Promise<Opened> {
  const opened = await open(browser, html, options);
  await opened.page.setInputFiles("#choose", files);
  await answered(opened.page, "show");
  return opened;
}

/** Waits for the answer to a command line that begins so. */
async function answered(page: Page, line: string): Promise<void> {
  await page.waitForFunction((l) => document.body.dataset["answered"]?.startsWith(l), line, { timeout: 60_000 });
}

/** What the command says on the machine, run where its inputs lie. */
function said(words: string[], ...files: string[]): { out: string; err: string } {
  const run = spawnSync(BINARY, [...words, ...files.map((f) => basename(f))], { cwd: dirname(files[0] ?? "."), encoding: "utf8" });
  return { out: run.stdout, err: run.stderr };
}

/** What the page shows. */
async function shown(page: Page): Promise<{ out: string; err: string }> {
  return { out: (await page.textContent("#screen")) ?? "", err: (await page.textContent("#remarks")) ?? "" };
}

/** Of what the page asked for: nothing but itself. */
const away = (requests: string[]): string[] => requests.filter((r) => !r.startsWith("blob:"));

test("the page is one file of at most 6 MiB", { skip: !havePage }, () => {
  assert.ok(statSync(FILE).size <= 6 << 20, `${statSync(FILE).size} bytes`);
});

test("a log, a recording: the same words as the command, and no request", { skip }, async () => {
  for (const file of [slowSync(), slowLink(), CAPTURE]) {
    const { page, errors, requests } = await given([file]);
    const want = said(["show"], file);
    assert.deepEqual(await shown(page), want);
    assert.ok(want.out.replace(/\s+/g, " ").startsWith((await page.textContent("#first")) ?? "?"));
    for (const verb of ["check", "predict", "tune"]) {
      await page.click(`#verbs button:text-is("${verb}")`);
      await answered(page, verb);
      assert.deepEqual(await shown(page), said([verb], file));
    }
    assert.deepEqual(errors, []);
    assert.deepEqual(away(requests), []);
    await page.context().close();
  }
});

test("a click on a line shows it, and the address keeps the question", { skip }, async () => {
  const { page, errors } = await given([slowSync()]);
  await page.click('#verbs button:text-is("check")');
  await answered(page, "check");
  const line = page.locator('#screen button:text-matches("^line ")').first();
  const number = Number(((await line.textContent()) ?? "").slice(5));
  await line.click();
  const row = page.locator("#log-lines .chosen");
  await row.waitFor();
  assert.match((await row.textContent()) ?? "", new RegExp(`^${number}.*Filesystems sync`));
  assert.equal(new URL(page.url()).hash, `#verb=check&line=${number}`);
  await page.fill("#log-search", "suspend entry");
  await page.press("#log-search", "Enter");
  assert.match((await row.textContent()) ?? "", /suspend entry/);
  assert.deepEqual(errors, []);
  await page.context().close();
});

test("options are typed as on the command line, and help is there", { skip }, async () => {
  const { page } = await given([CAPTURE]);
  await page.fill("#options", "--top 3 --cycle 2");
  await page.press("#options", "Enter");
  await answered(page, "show --top 3");
  const options = ["show", "--top", "3", "--cycle", "2"];
  assert.deepEqual(await shown(page), said(options, CAPTURE));
  await page.check("#json");
  await answered(page, "show --top 3 --cycle 2 --json");
  assert.deepEqual(await shown(page), said([...options, "--json"], CAPTURE));
  await page.uncheck("#json");
  await page.fill("#options", "--nothing-such");
  await page.press("#options", "Enter");
  await answered(page, "show --nothing-such");
  assert.match((await page.textContent("#remarks")) ?? "", /--nothing-such/);
  assert.match((await page.textContent("#cost")) ?? "", /^Exit code 2/);
  await page.context().close();
});

test("two recordings are compared", { skip }, async () => {
  const [a, b] = ["laptop-6.12", "laptop-7.3"].map((n) => join(ROOT, `captures/${n}.tar.gz`)) as [string, string];
  const { page } = await given([a]);
  await page.click('#verbs button:text-is("compare")');
  await page.check("#keep");
  await page.setInputFiles("#choose", [b]);
  await answered(page, "compare laptop-6.12.tar.gz laptop-7.3.tar.gz");
  assert.deepEqual(await shown(page), said(["compare"], a, b));
  await page.context().close();
});

test("the report opens in its own frame, and can be taken away", { skip }, async () => {
  const { page, errors, requests } = await given([CAPTURE]);
  await page.click('#verbs button:text-is("report")');
  await answered(page, "report");
  const frame = page.frameLocator("#page iframe");
  await frame.locator("#answer").filter({ hasText: /ms/ }).waitFor({ timeout: 20_000 });
  assert.equal(await page.locator("#written a[download]").count(), 1);
  assert.deepEqual(errors, []);
  assert.deepEqual(away(requests), []);
  await page.context().close();
});

test("pasted text is read; what runs can be cancelled", { skip }, async () => {
  const { page } = await open(browser, FILE);
  await page.click("#paste summary");
  await page.fill("#pasted", "[ 1.0] PM: suspend entry (deep)\n[ 2.0] usb 1-1: PM: failed to suspend async: error -110\n");
  await page.click("#read");
  await answered(page, "show pasted.txt");
  assert.notEqual((await page.textContent("#first"))?.trim(), "");
  const long = join(OUT, "long.txt");
  writeFileSync(long, "[    1.000000] usb 1-1: a line of a log that says nothing at all\n".repeat(600_000));
  await page.setInputFiles("#choose", [long]);
  await page.locator("#cancel").click();
  await page.waitForFunction(() => document.getElementById("progress")?.hidden);
  await page.click('#verbs button:text-is("check")');
  await page.locator("#cancel").click();
  await page.waitForFunction(() => document.getElementById("cost")?.textContent === "Cancelled.");
  await page.context().close();
});

test("what stops the command is said, and the next question is answered", { skip }, async () => {
  const stops = `addEventListener("message", ({ data }) => {
    if (data.words.includes("--stop")) WebAssembly.Instance = function () { throw new WebAssembly.RuntimeError("unreachable"); };
  });`;
  const broken = join(OUT, "stops.html");
  writeFileSync(broken, readFileSync(FILE, "utf8").replace('id="worker">', `id="worker">${stops}`));
  const { page, errors } = await given([slowSync()], {}, broken);
  await page.fill("#options", "--stop");
  await page.press("#options", "Enter");
  await answered(page, "show --stop");
  assert.match((await shown(page)).err, /^The command stopped while it read this .*unreachable/);
  await page.click('#verbs button:text-is("check")');
  await answered(page, "check");
  assert.deepEqual(await shown(page), said(["check"], slowSync()));
  assert.deepEqual(errors, []);
  await page.context().close();
});

test("nothing is clipped on a phone, and axe finds nothing, in light and dark", { skip }, async () => {
  for (const dark of [false, true]) {
    const { page } = await given([slowSync()], { width: 390, height: 800, dark });
    for (const closed of await page.locator("summary").all()) await closed.click();
    await page.click('#verbs button:text-is("check")');
    await answered(page, "check");
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
    assert.deepEqual(await violations(page), []);
    await page.context().close();
  }
});

test("the keyboard is enough", { skip }, async () => {
  const { page } = await given([slowSync()]);
  await page.locator('#verbs button:text-is("check")').focus();
  await page.keyboard.press("Enter");
  await answered(page, "check");
  for (let i = 0; i < 60 && !(await page.evaluate(() => document.activeElement?.textContent?.startsWith("line "))); i++) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.locator("#log-lines .chosen").waitFor();
  await page.context().close();
});

// The page as a user meets it: opened from disk, clicked through, compared
// with what the command line says.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { haveBrowser, launch, open } from "./browser.ts";
import { drawn, firstPaint } from "./figures.ts";
import { dormouse, haveData, type Head, objects, report, RUNS, slowHook, slowLink, slowSync } from "./inputs.ts";

const skip = !haveBrowser() || !haveData();

interface ShownPhase {
  name: string;
  direction: string;
  duration_ns: number;
  callbacks: number;
}
interface ShownRow {
  kind: string;
  name: string;
  direction: string;
  counted_ns: number;
}
interface ShownDevice {
  device: number;
  suspend_time_ns: number;
  suspend_critical_ns: number;
  suspend_gain_ns: number;
  resume_time_ns: number;
  resume_critical_ns: number;
  resume_gain_ns: number;
}
interface ShownCycle {
  suspend_ns: number;
  resume_ns: number;
  phases: ShownPhase[];
  rows: ShownRow[];
  devices: unknown[][];
  answer: { direction: string; text: string }[];
}

let browser: Browser;
before(async () => {
  if (haveBrowser()) browser = await launch();
});
after(async () => {
  await browser?.close();
});

test("opens from disk, asks for nothing, paints within a second", { skip }, async () => {
  const paints: number[] = [];
  const ready: number[] = [];
  for (let i = 0; i < 3; i++) {
    const { page, errors, requests } = await open(browser, report("runs", RUNS));
    assert.deepEqual(errors, []);
    assert.deepEqual(requests, []);
    assert.match((await page.textContent("#answer")) ?? "", /^(Suspend|Resume)[ ,].* ms/);
    paints.push(await firstPaint(page));
    ready.push(await drawn(page));
    await page.context().close();
  }
  // The quickest of three: other work on the machine is not the page's.
  assert.ok(Math.min(...paints) < 1000, `first paint after ${paints.join(", ")} ms`);
  assert.ok(Math.min(...ready) < 1000, `drawn after ${ready.join(", ")} ms`);
});

test("no script but the page's own can run", { skip }, async () => {
  const { page } = await open(browser, report("runs", RUNS));
  const policy = await page.getAttribute('meta[http-equiv="Content-Security-Policy"]', "content");
  assert.match(policy ?? "", /default-src 'none'; script-src 'sha256-[^']+' 'wasm-unsafe-eval'; style-src 'sha256-[^']+'/);
  assert.doesNotMatch(policy ?? "", /unsafe-inline|'unsafe-eval'|https?:/);
  const hurt = await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.hurt = 1";
    document.body.append(script);
    const image = document.createElement("div");
    image.innerHTML = '<img src="x" onerror="window.hurt = 2">';
    document.body.append(image);
    return new Promise((done) => setTimeout(() => done((window as unknown as { hurt?: number }).hurt), 200));
  });
  assert.equal(hurt, undefined);
  await page.context().close();
});

test("findings are those of show --json, and mark the row that they concern", { skip: !haveBrowser() }, async () => {
  const log = slowSync();
  const { page, errors } = await open(browser, report("sync", log));
  assert.deepEqual(errors, []);
  const shown = JSON.parse(dormouse("show", "--json", log)) as { findings: { id: string; sentence: string }[] };
  assert.deepEqual(shown.findings.map((f) => f.id), ["sync-share"]);
  const items = page.locator("#finding-list > li");
  assert.equal(await items.count(), shown.findings.length);
  assert.ok((await items.first().textContent())?.includes(shown.findings[0]?.sentence ?? "?"));
  assert.match((await page.locator('tr[data-phase="sync"] a.mark').textContent()) ?? "", /slow/);
  assert.equal(await page.locator('tr[data-phase="suspend"] a.mark').count(), 0);
  await items.first().locator("summary").click();
  assert.match((await items.first().locator("code").first().textContent()) ?? "", /Filesystems sync: 2\.500 seconds/);
  await page.context().close();
});

test("the whole way is that of show", { skip: !haveBrowser() }, async () => {
  const log = slowHook();
  const { page, errors } = await open(browser, report("hook", log));
  assert.deepEqual(errors, []);
  const shown = dormouse("show", log);
  const rows = page.locator("#whole-rows > tr");
  assert.ok((await rows.count()) >= 4);
  for (const row of await rows.all()) {
    const cells = (await row.locator("th, td").allTextContents()).filter((c) => c !== "");
    for (const cell of cells.slice(1)) assert.ok(shown.includes(cell), `${cell} is not on the screen`);
  }
  assert.match((await page.textContent("#whole")) ?? "", /the unit of the sleep ended/);
  await page.context().close();
});

test("waits that a log without callbacks tells are those of show --json", { skip: !haveBrowser() }, async () => {
  const log = slowLink();
  const { page, errors } = await open(browser, report("link", log));
  assert.deepEqual(errors, []);
  const shown = JSON.parse(dormouse("show", "--json", log)) as { cycles: { waits: { time_ns: number; device: string }[] }[] };
  const told = shown.cycles[0]?.waits ?? [];
  assert.ok(told.length >= 2);
  const items = page.locator("#wait-list > li");
  assert.equal(await items.count(), told.length);
  for (const [i, wait] of told.entries()) {
    assert.equal(Number(await items.nth(i).getAttribute("data-ns")), wait.time_ns);
    assert.ok((await items.nth(i).textContent())?.includes(wait.device));
  }
  assert.match((await page.textContent("#wait-bound")) ?? "", /^At most/);
  await page.context().close();
});

test("totals, rows and the table are those of show --json", { skip }, async () => {
  const one = `${RUNS}/suspend-190921-145531`;
  const { page } = await open(browser, report("one", one));
  const shown = JSON.parse(dormouse("show", "--json", one)) as Head & { cycles: ShownCycle[] };
  const cycle = shown.cycles[0];
  assert.ok(cycle);
  assert.equal(Number(await page.getAttribute("#total-suspend", "data-ns")), cycle.suspend_ns);
  assert.equal(Number(await page.getAttribute("#total-resume", "data-ns")), cycle.resume_ns);
  for (const half of await page.locator(".half .sentence").allTextContents()) {
    assert.ok(cycle.answer.some((a) => a.text === half), half);
  }
  const more = page.getByText(/shorter rows/);
  while ((await more.count()) > 0) await more.first().click();
  for (const direction of ["suspend", "resume"]) {
    const rows = await page.locator(`section.half[aria-label=${direction}] tbody tr[data-ns]`).evaluateAll((trs) =>
      trs.map((tr) => Number((tr as HTMLElement).dataset["ns"])),
    );
    const half = cycle.rows.filter((r) => r.direction === direction && r.kind !== "asleep");
    // CPUs that go off or come on one by one are one row of the page.
    const isCpu = (r: ShownRow): boolean => r.name === "cpu_off" || r.name === "cpu_on";
    const cpus = half.filter(isCpu);
    const expected = half.filter((r) => !isCpu(r)).map((r) => r.counted_ns);
    if (cpus.length > 0) expected.push(cpus.reduce((n, r) => n + r.counted_ns, 0));
    assert.deepEqual(rows.sort((a, b) => a - b), expected.sort((a, b) => a - b));
  }
  for (;;) {
    const further = page.locator("#more-devices");
    if (await further.isHidden()) break;
    await further.click();
  }
  const table = await page.locator("#device-rows tr").evaluateAll((trs) =>
    trs.map((tr) => [
      tr.querySelector("button")?.textContent ?? "",
      ...[...tr.querySelectorAll("td")].slice(0, 4).map((td) => Number(td.dataset["ns"])),
    ]),
  );
  const key = (row: unknown[]): string => row.join("|");
  const devices = objects<ShownDevice>(shown, "cycles.devices", cycle.devices);
  const names = objects<{ name: string }>(shown, "devices", shown.devices).map((d) => d.name);
  const expected = devices.map((d) => [
    names[d.device],
    d.suspend_time_ns,
    d.resume_time_ns,
    d.suspend_critical_ns + d.resume_critical_ns,
    d.suspend_gain_ns + d.resume_gain_ns,
  ]);
  assert.ok(expected.length > 100);
  assert.deepEqual(table.map(key).sort(), expected.map(key).sort());
  await page.context().close();
});

test("cycles, outliers and the median can be chosen", { skip }, async () => {
  const { page } = await open(browser, report("runs", RUNS));
  assert.equal(await page.locator("#cycle-dots .dots circle").count(), 80);
  const first = page.locator("#outliers button").first();
  const number = Number(await first.getAttribute("data-cycle"));
  await first.click();
  await page.waitForFunction((n) => document.getElementById("cycle-shown")?.textContent?.startsWith(`Cycle ${n + 1} of 40`), number);
  const shown = JSON.parse(dormouse("show", "--json", RUNS)) as { cycles: ShownCycle[] };
  assert.equal(Number(await page.getAttribute("#total-resume", "data-ns")), shown.cycles[number]?.resume_ns);
  await page.locator("#cycle-dots .dots circle").nth(3).click();
  assert.match((await page.textContent("#cycle-shown")) ?? "", /^Cycle \d+ of 40/);
  await page.selectOption("#cycle-pick", "6");
  assert.match((await page.textContent("#cycle-shown")) ?? "", /^Cycle 7 of 40/);
  await page.getByRole("button", { name: "Median cycle" }).click();
  assert.match((await page.textContent("#cycle-shown")) ?? "", /nearest to the median/);
  await page.context().close();
});

test("the timeline zooms, pans, searches and walks the path from the keyboard", { skip }, async () => {
  const { page, errors } = await open(browser, report("runs", RUNS));
  const canvas = page.locator("#timeline");
  const view = async (): Promise<number[]> => {
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    return ((await canvas.getAttribute("data-view")) ?? "").split(" ").map(Number);
  };
  await canvas.focus();
  const [from = 0, to = 0] = await view();
  await page.keyboard.press("+");
  const [from1 = 0, to1 = 0] = await view();
  assert.ok(to1 - from1 < (to - from) * 0.8);
  await page.keyboard.press("ArrowRight");
  const [from2 = 0] = await view();
  assert.ok(from2 > from1);
  await page.keyboard.press("0");
  assert.deepEqual(await view(), [from, to]);
  await page.keyboard.press("n");
  await page.locator("#detail h3").waitFor();
  const firstStep = await page.textContent("#detail h3");
  await page.keyboard.press("n");
  assert.notEqual(await page.textContent("#detail h3"), null);
  await page.keyboard.press("p");
  assert.equal(await page.textContent("#detail h3"), firstStep);
  assert.ok((await page.locator("#detail .why").count()) > 0);
  assert.match((await page.textContent("#places")) ?? "", /In every cycle/);
  await page.keyboard.press("/");
  await page.keyboard.type("usb1");
  assert.match((await page.textContent("#search-found")) ?? "", /device/);
  await page.keyboard.press("Enter");
  assert.match((await page.textContent("#detail h3")) ?? "", /usb1/);
  const threads = Number(await canvas.getAttribute("data-rows"));
  await page.selectOption("#timeline-tools select", "tree");
  assert.ok(Number(await canvas.getAttribute("data-rows")) > threads);
  const box = await canvas.boundingBox();
  assert.ok(box);
  await page.mouse.click(box.x + 40, box.y + 80);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Zoom in" }).click();
  await page.getByRole("button", { name: "Fit the whole cycle" }).click();
  await page.locator(".half tbody button").first().click();
  assert.notDeepEqual(await view(), [from, to]);
  assert.deepEqual(errors, []);
  await page.context().close();
});

test("the table sorts and copies as Markdown", { skip }, async () => {
  const { page } = await open(browser, report("runs", RUNS));
  const column = async (n: number): Promise<number[]> =>
    page.locator(`#device-rows td:nth-child(${n})`).evaluateAll((tds) => tds.map((td) => Number((td as HTMLElement).dataset["ns"])));
  await page.locator('[data-sort="resume"]').click();
  const down = await column(3);
  assert.deepEqual(down, [...down].sort((a, b) => b - a));
  await page.locator('[data-sort="resume"]').click();
  const up = await column(3);
  assert.deepEqual(up, [...up].sort((a, b) => a - b));
  assert.equal(await page.locator("#device-head th[aria-sort=ascending]").count(), 1);
  await page.locator("#copy-markdown").click();
  const copied = (await page.locator("#copy-markdown").getAttribute("data-copied")) ?? "";
  const lines = copied.trim().split("\n");
  assert.match(lines[0] ?? "", /^\| Device \|/);
  assert.equal(lines.length, 42);
  await page.context().close();
});

test("the theme follows the system and can be chosen", { skip }, async () => {
  for (const dark of [false, true]) {
    const { page } = await open(browser, report("runs", RUNS), { dark });
    const colour = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const auto = await colour();
    await page.locator("#theme").click();
    const light = await colour();
    await page.locator("#theme").click();
    assert.notEqual(await colour(), light);
    assert.equal(auto === light, !dark);
    await page.context().close();
  }
});

test("a phone shows it without scrolling sideways", { skip }, async () => {
  const { page } = await open(browser, report("runs", RUNS), { width: 390, height: 844 });
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
  await page.context().close();
});

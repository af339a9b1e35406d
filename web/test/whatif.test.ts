// The prediction in the page is the command line's, to the bit.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { haveBrowser, launch, open } from "./browser.ts";
import { dormouse, haveData, report, ROOT, RUNS } from "./inputs.ts";

const skip = !haveBrowser() || !haveData();

let browser: Browser;
before(async () => {
  if (haveBrowser()) browser = await launch();
});
after(async () => {
  await browser?.close();
});

interface Said {
  after: {
    suspend_ns: number;
    resume_ns: number;
    range: { suspend_ns: [number, number]; resume_ns: [number, number] } | null;
    phases: { duration_ns: number }[];
  };
  claimed: { suspend_ns: number | null; resume_ns: number | null };
}

/** What a person does in the page, and what he would type instead. */
const CHANGES: { name: string; act: (page: Page) => Promise<void>; args: string[] }[] = [
  { name: "kernel 6.12", act: (p) => fill(p, "#what-if-kernel", "6.12"), args: ["--kernel", "6.12"] },
  { name: "kernel 6.18", act: (p) => fill(p, "#what-if-kernel", "6.18"), args: ["--kernel", "6.18"] },
  { name: "policy DC", act: (p) => fill(p, "#what-if-kernel", "DC"), args: ["--kernel", "DC"] },
  { name: "pm_async off", act: async (p) => void (await p.selectOption("#what-if-pm-async", "0")), args: ["--pm-async", "0"] },
  { name: "one CPU", act: (p) => fill(p, "#what-if-cpus", "1"), args: ["--cpus", "1"] },
  { name: "without a device", act: (p) => device(p, "without", "0000:00:02.0"), args: ["--without", "0000:00:02.0"] },
  { name: "all USB asynchronous", act: (p) => device(p, "async", "usb*"), args: ["--async", "usb*"] },
  { name: "all synchronous", act: (p) => device(p, "sync", "*"), args: ["--sync", "*"] },
  { name: "half the time", act: (p) => device(p, "scale", "1-3", "1/3"), args: ["--scale", "1-3=1/3"] },
  {
    name: "several at once",
    act: async (p) => {
      await fill(p, "#what-if-kernel", "6.1.80");
      await fill(p, "#what-if-cpus", "2");
      await device(p, "without", "i8042");
      await device(p, "async", "idma*");
      await device(p, "scale", "usb1", "25%");
    },
    args: ["--kernel", "6.1.80", "--cpus", "2", "--without", "i8042", "--async", "idma*", "--scale", "usb1=25%"],
  },
];

async function fill(page: Page, field: string, value: string): Promise<void> {
  await page.fill(field, value);
  await page.locator(field).blur();
}

async function device(page: Page, kind: string, pattern: string, factor?: string): Promise<void> {
  await page.fill("#what-if-device", pattern);
  await page.selectOption("#what-if-kind", kind);
  if (factor) await page.fill("#what-if-factor", factor);
  await page.click("#what-if-add");
}

/** The page claims what the command line claims, and shows no range where that is nothing. */
async function claimsOf(page: Page, said: Said): Promise<void> {
  for (const key of ["suspend_ns", "resume_ns"] as const) {
    assert.equal(await page.getAttribute(`#what-if-${key}`, "data-ns"), String(said.claimed[key] ?? ""), key);
    assert.equal(await page.locator(`#what-if-range-${key}`).isHidden(), said.claimed[key] === null, key);
  }
}

test("ten changes give the numbers of predict --json", { skip }, async (t) => {
  const { page, errors } = await open(browser, report("runs", RUNS));
  for (const { name, act, args } of CHANGES) {
    await t.test(name, async () => {
      await act(page);
      await page.locator("#what-if-suspend_ns").waitFor({ timeout: 20_000 });
      const command = (await page.textContent("#what-if-command")) ?? "";
      const said = JSON.parse(dormouse("predict", RUNS, ...args, "--json")) as Said;
      // The last click may still be under way: wait for the range, which is last.
      await page.locator("#what-if-range-resume_ns[data-range]").waitFor({ timeout: 60_000, state: "attached" });
      await claimsOf(page, said);
      const phases = await page.locator("#what-if-phases td[data-ns]").evaluateAll((tds) => tds.map((td) => Number((td as HTMLElement).dataset["ns"])));
      assert.deepEqual(phases, said.after.phases.map((s) => s.duration_ns));
      for (const key of ["suspend_ns", "resume_ns"] as const) {
        const range = ((await page.getAttribute(`#what-if-range-${key}`, "data-range")) ?? "").split(" ").map(Number);
        assert.deepEqual(range, said.after.range?.[key]);
      }
      for (const word of args) assert.ok(command.includes(word), `${command} has ${word}`);
      await page.click("#what-if-reset");
      await page.locator("#what-if-suspend_ns").waitFor({ state: "detached" });
    });
  }
  assert.deepEqual(errors, []);
  await page.context().close();
});

test("a device is changed from its panel, and the timeline shows both", { skip }, async () => {
  const { page } = await open(browser, report("runs", RUNS));
  const before = Number(await page.getAttribute("#timeline", "data-rows"));
  await page.locator("#device-rows button").first().click();
  await page.locator('[data-whatif="without"]').click();
  await page.locator("#what-if-suspend_ns").waitFor();
  await page.waitForFunction((n) => Number(document.getElementById("timeline")?.dataset["rows"]) > n, before);
  assert.ok(Number(await page.getAttribute("#what-if", "data-ms")) < 1000);
  await page.getByRole("button", { name: /^Undo: / }).click();
  await page.locator("#what-if-suspend_ns").waitFor({ state: "detached" });
  await page.context().close();
});

test("what cannot be asked is answered with a sentence", { skip }, async () => {
  const { page } = await open(browser, report("runs", RUNS));
  await fill(page, "#what-if-kernel", "windows");
  await page.waitForFunction(() => document.getElementById("what-if-status")?.textContent !== "");
  assert.match((await page.textContent("#what-if-status")) ?? "", /no kernel release/);
  await page.context().close();
});

test("what a log leaves open is not claimed: the page says what the command line says", { skip: !haveBrowser() }, async (t) => {
  const log = join(ROOT, "captures/laptop-6.12.tar.gz");
  const { page, errors } = await open(browser, report("laptop", log));
  for (const args of [["--kernel", "7.3"], ["--pm-async", "0"], ["--without", "phy0"]]) {
    await t.test(args.join(" "), async () => {
      const [option, value] = args as [string, string];
      if (option === "--kernel") await fill(page, "#what-if-kernel", value);
      else if (option === "--pm-async") await page.selectOption("#what-if-pm-async", value);
      else await device(page, "without", value);
      await page.locator("#what-if-range-resume_ns[data-range]").waitFor({ timeout: 60_000, state: "attached" });
      await claimsOf(page, JSON.parse(dormouse("predict", log, ...args, "--json")) as Said);
      await page.click("#what-if-reset");
      await page.locator("#what-if-suspend_ns").waitFor({ state: "detached" });
    });
  }
  assert.deepEqual(errors, []);
  await page.context().close();
});

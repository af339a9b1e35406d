// The page that reads, in Debian's Firefox: what people do first, with the command's own words.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { basename, dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { Firefox, haveFirefox, type Tab } from "./bidi.ts";
import { BINARY, OUT, ROOT, slowSync } from "./inputs.ts";

const FILE = join(ROOT, "target/page/dormouse.html");
const havePage = existsSync(FILE);
if (!havePage) console.error("SKIPPED: no target/page/dormouse.html; run make page");
const skip = !haveFirefox() || !havePage;
const CAPTURE = join(ROOT, "captures/laptop-6.12.tar.gz");

let firefox: Firefox;
/** Stands for every network: what is asked of it is kept. */
let network: Server;
let asked: string[] = [];

before(async () => {
  if (skip) return;
  network = createServer((socket) => {
    socket.on("data", (data) => {
      asked.push(String(data).split("\r\n")[0] ?? "");
      socket.end("HTTP/1.1 204 No Content\r\nAccess-Control-Allow-Origin: *\r\n\r\n");
    });
    socket.on("error", () => undefined);
  });
  await new Promise<void>((ok) => network.listen(0, "127.0.0.1", ok));
  firefox = await Firefox.launch((network.address() as { port: number }).port);
});
after(async () => {
  await firefox?.close();
  network?.close();
});

async function answered(tab: Tab, line: string): Promise<void> {
  await tab.until((l) => document.body.dataset["answered"]?.startsWith(l!), line);
}

/** What the command says on the machine, run where its inputs lie. */
function said(words: string[], file: string): string {
  return spawnSync(BINARY, [...words, basename(file)], { cwd: dirname(file), encoding: "utf8" }).stdout;
}

/** The page, opened from disk, and `file` dropped onto it. */
async function dropped(file: string): Promise<Tab> {
  const tab = await firefox.open(FILE);
  await tab.drop([file]);
  await answered(tab, "show");
  return tab;
}

/** What the page asked for besides itself. Firefox draws its own fields with a font of its own, which
 * is in the address. */
const away = (tab: Tab): string[] => tab.requests.filter((r) => !/^(blob|data):/.test(r));

test("Firefox: a log and a recording that are dropped are answered as the command does", { skip }, async () => {
  for (const file of [slowSync(), CAPTURE]) {
    const tab = await dropped(file);
    const want = said(["show"], file);
    assert.equal(await tab.text("#screen"), want);
    const first = await tab.text("#first");
    assert.ok(first !== "" && want.replace(/\s+/g, " ").startsWith(first), first);
    await tab.click("#verbs button:nth-child(2)");
    await answered(tab, "check");
    assert.equal(await tab.text("#screen"), said(["check"], file));
    assert.deepEqual(tab.errors, []);
    await tab.close();
  }
});

test("Firefox: files that are chosen, and options that are typed", { skip }, async () => {
  const tab = await firefox.open(FILE);
  await tab.choose("#choose", [CAPTURE]);
  await answered(tab, "show");
  await tab.click("#options");
  await tab.type("--cycle 2\uE007");
  await answered(tab, "show --cycle 2");
  assert.equal(await tab.text("#screen"), said(["show", "--cycle", "2"], CAPTURE));
  assert.deepEqual(tab.errors, []);
  await tab.close();
});

test("Firefox: the report opens in its own frame", { skip }, async () => {
  const tab = await dropped(CAPTURE);
  await tab.click("#verbs button:nth-child(6)");
  await answered(tab, "report");
  assert.equal(await tab.evaluate(() => document.querySelectorAll("#page iframe, #written a[download]").length), 2);
  assert.deepEqual(tab.errors, []);
  await tab.close();
});

test("Firefox: no request leaves, and the page may make none", { skip }, async () => {
  const since = asked.length;
  // Firefox may ask its maker something by itself.
  const asks = (): string[] => asked.slice(since).filter((line) => !/^CONNECT \S+\.mozilla\.(com|net|org):/.test(line));
  const tab = await dropped(slowSync());
  assert.deepEqual(away(tab), []);
  const ask = (): Promise<string> =>
    fetch("http://dormouse.test/secret").then(
      () => "answered",
      () => "refused",
    );
  assert.equal(await tab.evaluate(ask), "refused");
  assert.deepEqual(asks(), []);
  // It is the page's own policy that refuses, not a network that is missing: from a page without
  // one the same request arrives, and is counted.
  const plain = join(OUT, "plain.html");
  writeFileSync(plain, '<!doctype html><body data-ready="true">');
  const other = await firefox.open(plain);
  assert.equal(await other.evaluate(ask), "answered");
  assert.deepEqual(asks(), ["GET http://dormouse.test/secret HTTP/1.1"]);
  assert.deepEqual(away(other), ["http://dormouse.test/secret"]);
  await other.close();
  await tab.close();
});

test("Firefox: what runs can be cancelled, and the next question is answered", { skip }, async () => {
  const tab = await dropped(slowSync());
  const long = join(OUT, "long.txt");
  writeFileSync(long, "[    1.000000] usb 1-1: a line of a log that says nothing at all\n".repeat(600_000));
  await tab.choose("#choose", [long]);
  await tab.until(() => !document.getElementById("progress")!.hidden);
  await tab.click("#cancel");
  await tab.until(() => document.getElementById("progress")!.hidden);
  await tab.until(() => document.getElementById("cost")?.textContent === "Cancelled.");
  await tab.choose("#choose", [CAPTURE]);
  await answered(tab, `show ${basename(CAPTURE)}`);
  assert.equal(await tab.text("#screen"), said(["show"], CAPTURE));
  await tab.close();
});

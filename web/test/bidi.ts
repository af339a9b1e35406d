// Drives Debian's Firefox by WebDriver BiDi, over the WebSocket that it opens itself: Playwright
// drives a Firefox of its own only. https://www.w3.org/TR/webdriver-bidi/ has the commands.

import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export const FIREFOX = process.env["FIREFOX"] ?? "/usr/bin/firefox-esr";

/** Whether there is a Firefox; tests say loudly if there is none. */
export function haveFirefox(): boolean {
  const have = existsSync(FIREFOX);
  if (!have) console.error(`SKIPPED: no Firefox at ${FIREFOX}; install Debian's firefox-esr`);
  return have;
}

/** What would make Firefox ask a network by itself, and `proxy`, through which all else has to go. */
function preferences(proxy: number): string {
  const set: Record<string, string | number | boolean> = {
    "app.normandy.enabled": false,
    "app.update.disabledForTesting": true,
    "browser.shell.checkDefaultBrowser": false,
    "datareporting.policy.dataSubmissionEnabled": false,
    "network.captive-portal-service.enabled": false,
    "network.connectivity-service.enabled": false,
    "services.settings.server": "data:,#no-server",
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": proxy,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": proxy,
    "network.proxy.allow_hijacking_localhost": true,
  };
  return Object.entries(set).map(([k, v]) => `user_pref(${JSON.stringify(k)}, ${JSON.stringify(v)});\n`).join("");
}

type Fields = Record<string, unknown>;
interface Message {
  id?: number;
  type: string;
  method?: string;
  params?: Fields;
  result?: Fields;
  error?: string;
  message?: string;
}

/** A Firefox of its own, with a new profile. */
export class Firefox {
  private last = 0;
  private readonly waiting = new Map<number, { ok: (r: Fields) => void; no: (e: Error) => void }>();
  private readonly heard: ((method: string, params: Fields) => void)[] = [];

  private constructor(
    private readonly process: ChildProcess,
    private readonly socket: WebSocket,
    private readonly profile: string,
  ) {
    socket.addEventListener("message", (event) => this.take(JSON.parse(String(event.data)) as Message));
    socket.addEventListener("close", () => {
      for (const { no } of this.waiting.values()) no(new Error("Firefox went away"));
    });
  }

  static async launch(proxy: number): Promise<Firefox> {
    const profile = mkdtempSync(join(tmpdir(), "dormouse-firefox-"));
    writeFileSync(join(profile, "user.js"), preferences(proxy));
    const words = ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"];
    // Without the second word Firefox asks Mozilla for settings, whatever its preferences say.
    const env = { ...process.env, HOME: profile, MOZ_REMOTE_SETTINGS_DEVTOOLS: "1" };
    const child = spawn(FIREFOX, words, { stdio: ["ignore", "ignore", "pipe"], env });
    const address = await new Promise<string>((ok, no) => {
      let said = "";
      child.stderr?.on("data", (data) => {
        said += String(data);
        const found = /WebDriver BiDi listening on (ws:\S+)/.exec(said)?.[1];
        if (found) ok(found);
      });
      child.on("exit", (code) => no(new Error(`Firefox ended with ${code}: ${said}`)));
      setTimeout(() => no(new Error(`Firefox does not listen: ${said}`)), 60_000).unref();
    });
    const socket = new WebSocket(`${address}/session`);
    await new Promise((ok, no) => {
      socket.addEventListener("open", ok);
      socket.addEventListener("error", () => no(new Error(`no connection to ${address}`)));
    });
    const firefox = new Firefox(child, socket, profile);
    await firefox.send("session.new", { capabilities: {} });
    await firefox.send("session.subscribe", { events: ["network.beforeRequestSent", "log.entryAdded"] });
    return firefox;
  }

  private take(message: Message): void {
    const waits = this.waiting.get(message.id ?? -1);
    if (message.type === "event") for (const listener of this.heard) listener(message.method ?? "", message.params ?? {});
    else if (message.type === "success") waits?.ok(message.result ?? {});
    else waits?.no(new Error(`${message.error}: ${message.message}`));
    this.waiting.delete(message.id ?? -1);
  }

  /** Sends a command of the protocol. */
  send(method: string, params: Fields): Promise<Fields> {
    const id = ++this.last;
    return new Promise((ok, no) => {
      this.waiting.set(id, { ok, no });
      this.socket.send(JSON.stringify({ id, method, params }));
    });
  }

  /** Opens `file` from disk in a tab of its own. */
  async open(file: string): Promise<Tab> {
    const { context } = (await this.send("browsingContext.create", { type: "tab" })) as { context: string };
    const tab = new Tab(this, context);
    const url = `${pathToFileURL(file).href}?test`;
    this.heard.push((method, params) => tab.hear(method, params, url));
    await this.send("browsingContext.navigate", { context, url, wait: "complete" });
    await tab.until(() => document.body.dataset["ready"] === "true");
    return tab;
  }

  async close(): Promise<void> {
    const ended = new Promise((ok) => this.process.once("exit", ok));
    await this.send("browser.close", {}).catch(() => this.process.kill());
    await ended;
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** A page in Firefox. */
export class Tab {
  /** Errors of scripts and of the console. */
  readonly errors: string[] = [];
  /** What the page asked for, besides itself. */
  readonly requests: string[] = [];

  constructor(
    private readonly firefox: Firefox,
    private readonly context: string,
  ) {}

  hear(method: string, params: Fields, own: string): void {
    const source = params["source"] as { context?: string } | undefined;
    if ((params["context"] ?? source?.context) !== this.context) return;
    const url = (params["request"] as { url: string } | undefined)?.url;
    if (method === "network.beforeRequestSent" && url !== undefined && url !== own) this.requests.push(url);
    if (method === "log.entryAdded" && params["level"] === "error") this.errors.push(String(params["text"]));
  }

  /** What `f` gives in the page; it sees its arguments, and nothing else from here. */
  async evaluate<T>(f: (...words: string[]) => T | Promise<T>, ...words: string[]): Promise<T> {
    const { result, exceptionDetails } = (await this.firefox.send("script.callFunction", {
      functionDeclaration: `async (...words) => JSON.stringify((await (${String(f)})(...words)) ?? null)`,
      arguments: words.map((value) => ({ type: "string", value })),
      target: { context: this.context },
      awaitPromise: true,
      userActivation: true,
    })) as { result?: { value: string }; exceptionDetails?: { text: string } };
    if (exceptionDetails) throw new Error(exceptionDetails.text);
    return JSON.parse(result?.value ?? "null") as T;
  }

  /** Waits for something in the page. */
  async until(f: (...words: string[]) => unknown, ...words: string[]): Promise<void> {
    const end = Date.now() + 120_000;
    while (!(await this.evaluate(f, ...words))) {
      if (Date.now() > end) throw new Error(`in vain: ${String(f)} (${words.join(", ")})`);
      await new Promise((ok) => setTimeout(ok, 20));
    }
  }

  text(selector: string): Promise<string> {
    return this.evaluate((s) => document.querySelector(s!)?.textContent ?? "", selector);
  }

  private async element(selector: string): Promise<{ sharedId: string }> {
    const { nodes } = (await this.firefox.send("browsingContext.locateNodes", {
      context: this.context,
      locator: { type: "css", value: selector },
    })) as { nodes: { sharedId: string }[] };
    if (!nodes[0]) throw new Error(`no ${selector} in the page`);
    return { sharedId: nodes[0].sharedId };
  }

  /** Chooses files in a field. */
  async choose(selector: string, files: string[]): Promise<void> {
    await this.firefox.send("input.setFiles", { context: this.context, element: await this.element(selector), files });
  }

  /** Drops files onto the page. BiDi drags no files from outside: a field of our own takes them
   * from disk, and a script makes the event. */
  async drop(files: string[]): Promise<void> {
    await this.evaluate(() => {
      const field = Object.assign(document.createElement("input"), { type: "file", multiple: true, id: "dropped-by-test" });
      document.body.append(field);
    });
    await this.choose("#dropped-by-test", files);
    await this.evaluate(() => {
      const field = document.getElementById("dropped-by-test") as HTMLInputElement;
      const data = new DataTransfer();
      for (const file of field.files ?? []) data.items.add(file);
      field.remove();
      document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data }));
    });
  }

  /** Clicks with the mouse. */
  async click(selector: string): Promise<void> {
    await this.evaluate((s) => document.querySelector(s!)?.scrollIntoView({ block: "center" }), selector);
    const origin = { type: "element", element: await this.element(selector) };
    const actions = [{ type: "pointerMove", x: 0, y: 0, origin }, { type: "pointerDown", button: 0 }, { type: "pointerUp", button: 0 }];
    await this.firefox.send("input.performActions", {
      context: this.context,
      actions: [{ type: "pointer", id: "mouse", parameters: { pointerType: "mouse" }, actions }],
    });
  }

  /** Types into the field that has the focus; "\uE007" is Enter. */
  async type(text: string): Promise<void> {
    const actions = [...text].flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }]);
    await this.firefox.send("input.performActions", { context: this.context, actions: [{ type: "key", id: "keys", actions }] });
  }

  async close(): Promise<void> {
    await this.firefox.send("browsingContext.close", { context: this.context });
  }
}

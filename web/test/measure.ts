// Measures a report in the browser: node test.mjs measure REPORT…
// Prints size, first paint, time of a what-if, and scripting time
// per frame while panning.

import { statSync } from "node:fs";
import { basename } from "node:path";
import { launch, open } from "./browser.ts";
import { drawn, firstPaint, frameTimes, median } from "./figures.ts";

const browser = await launch();
for (const file of process.argv.slice(2)) {
  const { page, errors } = await open(browser, file);
  const paint = await firstPaint(page);
  const whatIf: number[] = [];
  if (!(await page.locator("#what-if").isHidden())) {
    for (const kernel of ["6.1", "6.12", "6.17", "6.18"]) {
      await page.evaluate(() => delete document.getElementById("what-if")?.dataset["ms"]);
      await page.fill("#what-if-kernel", kernel);
      await page.locator("#what-if-kernel").blur();
      await page.waitForFunction(() => document.getElementById("what-if")?.dataset["ms"] !== undefined);
      whatIf.push(Number(await page.getAttribute("#what-if", "data-ms")));
    }
    await page.click("#what-if-reset");
  }
  const frames = await frameTimes(page);
  const ready = await drawn(page);
  const size = Math.ceil(statSync(file).size / 1024);
  console.log(
    `${basename(file)}: ${size} KB, first paint ${paint.toFixed(0)} ms, all drawn ${ready.toFixed(0)} ms, panning ${median(frames).toFixed(2)} ms script per frame ` +
      `(most ${Math.max(...frames).toFixed(2)}, ${frames.length} frames)${whatIf.length > 0 ? `, what-if ${median(whatIf).toFixed(0)} ms` : ""}${errors.length > 0 ? `, errors: ${errors.join("; ")}` : ""}`,
  );
  await page.context().close();
}
await browser.close();

// Measures a report in the browser: node test.mjs measure REPORT…
// Prints size, first paint, and scripting time per frame while panning.

import { statSync } from "node:fs";
import { launch, open } from "./browser.ts";
import { drawn, firstPaint, frameTimes, median } from "./figures.ts";

const browser = await launch();
for (const file of process.argv.slice(2)) {
  const { page, errors } = await open(browser, file);
  const paint = await firstPaint(page);
  const frames = await frameTimes(page);
  const ready = await drawn(page);
  const size = Math.ceil(statSync(file).size / 1024);
  console.log(
    `${file}: ${size} KB, first paint ${paint.toFixed(0)} ms, all drawn ${ready.toFixed(0)} ms, panning ${median(frames).toFixed(2)} ms script per frame ` +
      `(most ${Math.max(...frames).toFixed(2)}, ${frames.length} frames)${errors.length > 0 ? `, errors: ${errors.join("; ")}` : ""}`,
  );
  await page.context().close();
}
await browser.close();

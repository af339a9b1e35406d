// Figures that the page gives about itself.

import type { Page } from "playwright-core";

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}

/** Milliseconds from the start of the load to the first contentful paint. */
export async function firstPaint(page: Page): Promise<number> {
  return page.evaluate(async () => {
    for (let i = 0; i < 100; i++) {
      const entry = performance.getEntriesByName("first-contentful-paint")[0];
      if (entry) return entry.startTime;
      await new Promise((done) => setTimeout(done, 20));
    }
    return NaN;
  });
}

/** Milliseconds until the page said that everything is drawn. */
export async function drawn(page: Page): Promise<number> {
  return page.evaluate(() => Number(document.body.dataset["readyMs"]));
}

/** Scripting time of each frame while the timeline is zoomed and dragged. */
export async function frameTimes(page: Page): Promise<number[]> {
  const canvas = page.locator("#timeline");
  await canvas.scrollIntoViewIfNeeded();
  await canvas.focus();
  const box = await canvas.boundingBox();
  if (!box) throw new Error("the timeline is not shown");
  for (let i = 0; i < 4; i++) await page.keyboard.press("+");
  const x = box.x + box.width * 0.7;
  const y = box.y + box.height * 0.6;
  await page.mouse.move(x, y);
  await page.mouse.down();
  for (let i = 0; i < 120; i++) {
    const swing = Math.sin(i / 10);
    await page.mouse.move(x - swing * box.width * 0.3, y - Math.sin(i / 25) * 80);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
  }
  await page.mouse.up();
  const text = await canvas.getAttribute("data-frames");
  return (text ?? "").split(" ").map(Number).slice(-100);
}

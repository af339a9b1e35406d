// Makes the pictures of the docs: node test.mjs pictures REPORT FOLDER

import { launch, open } from "./browser.ts";

const [file, folder] = process.argv.slice(2);
if (!file || !folder) throw new Error("usage: node test.mjs pictures REPORT FOLDER");
const browser = await launch();
const { page, errors } = await open(browser, file, { width: 1180, height: 860 });
await page.screenshot({ path: `${folder}/report-top.png` });

// A step of the critical path that waited for something.
await page.locator("#timeline").focus();
for (let i = 0; i < 12; i++) {
  await page.keyboard.press("n");
  const phase = (await page.locator("#detail li.chosen button").textContent()) ?? "";
  const why = (await page.locator("#detail li.chosen .why").textContent()) ?? "";
  if (/^resume/.test(phase) && /parent|supplier/.test(why)) break;
}
await page.keyboard.press("0");
await page.mouse.move(0, 0);
await page.locator("#timeline-section").scrollIntoViewIfNeeded();
await page.locator("#timeline-section").screenshot({ path: `${folder}/report-timeline.png` });

await page.locator("#device-rows button").first().click();
await page.locator('[data-whatif="without"]').click();
await page.locator("#what-if-range-resume_ns[data-range]").waitFor({ timeout: 60_000 });
await page.locator("#what-if").screenshot({ path: `${folder}/report-whatif.png` });
if (errors.length > 0) throw new Error(errors.join("\n"));
await browser.close();

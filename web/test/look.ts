// Makes screenshots of a report, for people: node test/look.ts REPORT FOLDER
import { launch, open } from "./browser.ts";

const [file, folder] = process.argv.slice(2);
if (!file || !folder) throw new Error("usage: node test/look.ts REPORT FOLDER");
const browser = await launch();
for (const dark of [false, true]) {
  const { page, errors } = await open(browser, file, { dark });
  const name = dark ? "dark" : "light";
  await page.screenshot({ path: `${folder}/${name}-top.png` });
  await page.screenshot({ path: `${folder}/${name}-full.png`, fullPage: true });
  await page.locator("#timeline").focus();
  for (let i = 0; i < 4; i++) await page.keyboard.press("n");
  await page.locator("#timeline-section").screenshot({ path: `${folder}/${name}-timeline.png` });
  await page.selectOption("#timeline-tools select", "tree");
  await page.keyboard.press("n");
  await page.locator("#timeline").focus();
  await page.keyboard.press("n");
  await page.locator("#timeline-section").screenshot({ path: `${folder}/${name}-tree.png` });
  console.log(name, errors);
}
const wide = (page: import("playwright-core").Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll("body *")]
      .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll"))
      .map((e) => `${e.tagName}#${e.id}.${e.className}`)
      .slice(0, 8),
  );
const phone = await open(browser, file, { width: 390, height: 844 });
await phone.page.screenshot({ path: `${folder}/phone.png`, fullPage: true });
console.log("wider than the phone:", await wide(phone.page));
await browser.close();

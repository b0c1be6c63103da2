// Makes the pictures of docs/report.md: `npm run pictures`, after `cargo build -p seriatim-cli`.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mkdirSync } from 'node:fs';
import { directory, history, launch, open, report, seriatim } from './test/pages.mjs';
import { SAMPLES } from './test/samples.mjs';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const pictures = join(root, 'docs/pictures');
mkdirSync(pictures, { recursive: true });
const browser = await launch();

/** A picture of what one or several elements cover, with some space around. */
async function take(page, name, selectors) {
  await page.evaluate(() => {
    scrollTo(0, 0);
    document.querySelector('.bar').style.visibility = 'hidden';
  });
  const boxes = await Promise.all(selectors.map((selector) => page.locator(selector).first().boundingBox()));
  const [x, y] = [Math.min(...boxes.map((box) => box.x)), Math.min(...boxes.map((box) => box.y))];
  const width = Math.max(...boxes.map((box) => box.x + box.width)) - x;
  const height = Math.max(...boxes.map((box) => box.y + box.height)) - y;
  const clip = { x: x - 16, y: y - 4, width: width + 32, height: height + 24 };
  await page.screenshot({ path: join(pictures, name), clip, fullPage: true });
}

const viewport = { width: 1060, height: 900 };

const passed = report('message-passing', 'examples/message-passing.hist', '--model', 'sc');
const { page: violation } = await open(browser, passed, { viewport });
await take(violation, 'violation.png', ['.verdict', '#why']);

const runs = history(
  'queue.hist',
  seriatim(
    'gen',
    '--object',
    'queue',
    '--threads',
    '6',
    '--operations',
    '160',
    '--wrong',
    'k-fifo',
    '--progress',
    '45',
    '--seed',
    '9',
  ),
);
const { page: timeline } = await open(browser, report('queue', runs), { viewport, colorScheme: 'dark' });
await timeline.click('.switch button[data-part=whole]');
await timeline.waitForFunction(() => window.seriatim.timeline.view.history.count === 160);
await timeline.click('button:text("Fit")');
await timeline.waitForTimeout(300);
await take(timeline, 'timeline.png', ['#timeline', '#player']);

const files = Object.entries(SAMPLES).map(([name, { text, name: file = `${name}.hist` }]) => history(file, text));
files.push(history('fine.hist', '[0] w x 1\n[1] r x 1\n'));
seriatim('check', '--report', join(directory, 'run'), ...files);
const { page: index } = await open(browser, join(directory, 'run/index.html'), { viewport });
// The directory of this run is nobody's business.
await index.evaluate((directory) => {
  for (const cell of document.querySelectorAll('td, a')) {
    for (const node of cell.childNodes) if (node.nodeType === 3) node.data = node.data.replace(`${directory}/`, '');
  }
}, directory);
await take(index, 'index.png', ['.verdict', '#violations', '#models']);
await browser.close();

// Makes pages with the command, and opens them in Debian's Chromium. SERIATIM names the command; without it, the
// binary of the debug build is taken.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const root = fileURLToPath(new URL('../../../../..', import.meta.url));
/** The command. */
export const command = process.env.SERIATIM ?? join(root, 'target/debug/seriatim');

/** A directory for the pages of a test run. */
export const directory = mkdtempSync(join(tmpdir(), 'seriatim-page-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));

/** Runs the command. Its exit status must be one of a verdict. */
export function seriatim(...words) {
  const ran = spawnSync(command, words, { encoding: 'utf8', cwd: root, maxBuffer: 1 << 28 });
  if (ran.error) throw ran.error;
  if (![0, 1, 3].includes(ran.status)) throw new Error(`seriatim ${words.join(' ')}: ${ran.status}\n${ran.stderr}`);
  return ran.stdout;
}

/** Writes a history, and returns its path. */
export function history(name, text) {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

/** The page of a history: a file of this run, or of the repository. */
export function report(name, file, ...flags) {
  const page = join(directory, `${name}.html`);
  seriatim('report', file, ...flags, '-o', page);
  return page;
}

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export async function launch() {
  const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? executablePath, args: FLAGS });
}

/** Opens a page from its file. What must never happen is an error: a request, a message on the console, a dialog. */
export async function open(browser, path, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 }, ...options });
  const address = pathToFileURL(path).href;
  const wrong = [];
  page.on('request', (request) => request.url() !== address && wrong.push(`request: ${request.url()}`));
  page.on('console', (message) => wrong.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => wrong.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(address);
  await page.waitForSelector('html[data-ready]', { state: 'attached', timeout: 60000 });
  return { page, wrong };
}

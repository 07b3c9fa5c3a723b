// The pages are written for readers with curl; a machine that runs the tests may not have it.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const text = `#!/usr/bin/env node
const fs = require('node:fs');
const words = process.argv.slice(2);
const after = (flag) => words.filter((_, at) => words[at - 1] === flag);
const [data] = after('-d');
const parts = after('-F').map((line) => line.split(/=(.*)/s).slice(0, 2));
const form = parts.length > 0 ? new FormData() : undefined;
for (const [name, value] of parts)
  if (value[0] === '@') form.append(name, new Blob([fs.readFileSync(value.slice(1))]), value.slice(1));
  else form.append(name, value);
const body = data ?? form;
const [file] = after('-o');
const [method = body ? 'POST' : 'GET'] = after('-X');
const headers = after('-H').map((line) => line.split(/: (.*)/s).slice(0, 2));
const url = new URL(words.find((word) => /^https?:/.test(word)));
for (const pair of after('--data-urlencode')) url.searchParams.append(...pair.split(/=(.*)/s).slice(0, 2));
fetch(url, { method, headers, body })
  .then((answer) => answer.arrayBuffer())
  .then((bytes) => (file ? fs.writeFileSync(file, Buffer.from(bytes)) : process.stdout.write(Buffer.from(bytes))));
`;

/** Puts a `curl` into a directory of the PATH where the machine has none. */
export function provideCurl(directory: string): void {
  if (spawnSync('curl', ['--version']).error !== undefined)
    writeFileSync(join(directory, 'curl'), text, { mode: 0o755 });
}

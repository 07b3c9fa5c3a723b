import { readFileSync } from 'node:fs';

/** The version of this installation, from its package.json. */
export function version(): string {
  const { version: text }: { version: string } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  );
  return text;
}

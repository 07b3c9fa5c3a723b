import { existsSync, readFileSync } from 'node:fs';
import { packageFile } from './package-root.js';

/** The version of this installation, from its package.json. */
export function version(): string {
  const { version: text }: { version: string } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8'));
  return text;
}

/** Origin of this installation. */
interface Origin {
  /** The archive it was unpacked from. */
  readonly archive?: string;
  /** The commit it was built from; null if that was not a repository, or one with changes. */
  readonly commit?: string | null;
}

/** The archive and the commit of this installation, if known. */
export function origin(): Origin {
  return { ...read('release.json'), ...read('dist/build.json') };
}

function read(name: string): Origin {
  const file = packageFile(name);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
}

/** True if a version is newer than another one, by Semantic Versioning: 1.2.0-rc.1 comes before 1.2.0. */
export function isNewer(one: string, other: string): boolean {
  const [a, b] = [partsOf(one), partsOf(other)];
  const at = a.numbers.findIndex((number, index) => number !== b.numbers[index]);
  if (at >= 0) return (a.numbers[at] ?? 0) > (b.numbers[at] ?? 0);
  if (a.before === '' || b.before === '') return a.before === '' && b.before !== '';
  return a.before.localeCompare(b.before, 'en', { numeric: true }) > 0;
}

function partsOf(text: string): { readonly numbers: readonly number[]; readonly before: string } {
  const [release = '', ...before] = text.replace(/\+.*$/, '').split('-');
  const numbers = release.split('.').map(Number);
  return { numbers: [0, 1, 2].map((at) => numbers[at] ?? 0), before: before.join('-') };
}

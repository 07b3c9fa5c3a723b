import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Config } from '../config/schema.js';
import { packageFile } from '../runtime/package-root.js';

/** A fault of a template, with its position. */
export interface Fault {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'block'; readonly name: string; readonly pieces: Piece[] };

/** A use of a variable in a template. */
interface Mention {
  readonly name: string;
  readonly line: number;
  /** True if the value itself is inserted, and not only inside a conditional block. */
  readonly isCertain: boolean;
}

/** A text with `{{variable}}`, and with `{{#variable}}…{{/variable}}` around parts that appear only if the variable is not empty. */
export interface Template {
  readonly file: string;
  readonly pieces: readonly Piece[];
  readonly mentions: readonly Mention[];
  readonly faults: readonly Fault[];
}

/** Parses a template; syntax errors are listed in its faults. */
export function parseTemplate(file: string, source: string): Template {
  const faults: Fault[] = [];
  const mentions: Mention[] = [];
  const pieces: Piece[] = [];
  let open: { readonly name: string; readonly line: number; readonly pieces: Piece[] } | undefined;
  let at = 0;
  const lineOf = (index: number) => source.slice(0, index).split('\n').length;
  const text = (until: number) => {
    if (until > at) (open?.pieces ?? pieces).push({ kind: 'text', text: source.slice(at, until) });
  };
  for (const match of source.matchAll(/\{\{(?:([#/]?)([A-Za-z]\w*)\}\})?/g)) {
    const [whole, sign, name] = match;
    const line = lineOf(match.index);
    text(match.index);
    at = match.index + whole.length;
    if (name === undefined)
      faults.push({ file, line, message: 'after {{ there must be the name of a variable and }}, without spaces' });
    else if (sign === '') {
      (open?.pieces ?? pieces).push({ kind: 'variable', name });
      mentions.push({ name, line, isCertain: open === undefined });
    } else if (sign === '#') {
      mentions.push({ name, line, isCertain: false });
      if (open !== undefined) faults.push({ file, line, message: `{{#${name}}} stands inside of {{#${open.name}}}` });
      else open = { name, line, pieces: [] };
    } else if (open?.name === name) {
      pieces.push({ kind: 'block', ...open });
      open = undefined;
    } else faults.push({ file, line, message: `{{/${name}}} ends nothing` });
  }
  if (open !== undefined) faults.push({ file, line: open.line, message: `{{#${open.name}}} has no end` });
  text(source.length);
  return { file, pieces, mentions, faults };
}

/** Fills in a template. `encode` is called for values only, with the name of each. Throws if a variable has no value. */
export function fillIn(
  pieces: readonly Piece[],
  values: Readonly<Record<string, string>>,
  encode: (value: string, name: string) => string = (value) => value,
): string {
  const valueNamed = (name: string): string => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value === undefined) throw new TypeError(`no value for {{${name}}}`);
    return value;
  };
  return pieces
    .map((piece) => {
      if (piece.kind === 'text') return piece.text;
      if (piece.kind === 'variable') return encode(valueNamed(piece.name), piece.name);
      return valueNamed(piece.name) === '' ? '' : fillIn(piece.pieces, values, encode);
    })
    .join('');
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes a value for HTML text and quoted attributes. */
export function escapeHtml(value: string): string {
  return value.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

/** The template files: files of the installation replace those shipped with svc. */
export interface Templates {
  /** A template by its path; undefined if there is none. Read at each call, so that a change takes effect at once. */
  find(path: string, options?: { readonly shippedOnly?: boolean }): Promise<Template | undefined>;
  /** The names of the folders below a path. */
  folders(path: string): Promise<string[]>;
  /** The path of an installation's own version of a file. */
  ownPath(path: string): string;
}

const shipped = packageFile('templates');

/** Opens the templates of an installation. */
export function createTemplates({ dataDir, templatesDir }: Pick<Config, 'dataDir' | 'templatesDir'>): Templates {
  const own = resolve(templatesDir ?? join(dataDir, 'templates'));
  return {
    find: async (path, { shippedOnly = false } = {}) => {
      for (const directory of shippedOnly ? [shipped] : [own, shipped]) {
        const file = join(directory, path);
        const source = await readFile(file, 'utf8').catch(absent);
        if (source !== undefined) return parseTemplate(file, source.replace(/^\ufeff/, '').replaceAll('\r\n', '\n'));
      }
      return undefined;
    },
    folders: async (path) => {
      const found = await Promise.all(
        [own, shipped].map(async (directory) =>
          ((await readdir(join(directory, path), { withFileTypes: true }).catch(absent)) ?? [])
            .filter((entry) => entry.isDirectory())
            .map(({ name }) => name),
        ),
      );
      return [...new Set(found.flat())].sort();
    },
    ownPath: (path) => join(own, path),
  };
}

/** The current user may not read the templates of the installation. */
export class TemplatesUnreadableError extends Error {
  constructor(path: string, cause: unknown) {
    super(`${path} cannot be read by this user.`, { cause });
    this.name = 'TemplatesUnreadableError';
  }
}

/** Undefined if the file does not exist; a file that exists but cannot be read is an error. */
function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
  if (error.code === 'EACCES') throw new TemplatesUnreadableError(error.path ?? 'A directory of templates', error);
  throw error;
}

import { readFile } from 'node:fs/promises';
import type { Page } from '#src/contract/operation.js';
import { lazy } from './lazy.js';
import { packageFile } from './package-root.js';
import type { Random } from './random.js';
import { escapeHtml, fillIn, parseTemplate, type Template } from './templates.js';

type Values = Readonly<Record<string, string>>;

/** How a page is made of several files. */
interface Composition {
  /** The page that stands around it, where it says `{{content}}`. */
  readonly layout: string;
  /** Values that are HTML already, made by `fragment`. */
  readonly fragments?: Values;
  /** Origins that its forms lead to. */
  readonly formTargets?: readonly string[];
}

/** Fills the pages of `templates/pages/`; each is read at its first use. */
export function createPages(random: Random) {
  const templates = new Map<string, ReturnType<typeof lazy<Template>>>();
  const read = async (name: string): Promise<Template> => {
    const file = packageFile(`templates/pages/${name}.html`);
    return parseTemplate(file, await readFile(file, 'utf8'));
  };
  const template = (name: string): Promise<Template> => {
    const file = templates.get(name) ?? lazy(() => read(name));
    templates.set(name, file);
    return file.get();
  };
  const fill = async (name: string, values: Values, fragments: Values = {}): Promise<string> => {
    const { pieces } = await template(name);
    const all = { ...values, ...fragments };
    return fillIn(pieces, all, (value, named) => (Object.hasOwn(fragments, named) ? value : escapeHtml(value)));
  };
  return {
    /** A part of a page, filled in. */
    fragment: (name: string, values: Values): Promise<string> => fill(name, values),
    /** Puts the values, as text, where the page says `{{name}}`; `{{nonce}}` is what its scripts and styles carry. */
    render: async (name: string, values: Values, composition?: Composition): Promise<Page> => {
      const nonce = random.bytes(16).toString('base64url');
      const locals = { ...values, nonce };
      const content = await fill(name, locals, composition?.fragments);
      if (composition === undefined) return { html: content, nonce };
      const html = await fill(composition.layout, locals, { content });
      const { formTargets } = composition;
      return { html, nonce, ...(formTargets === undefined ? {} : { formTargets }) };
    },
  };
}

/** Pages for people, as the service itself serves them. */
export type Pages = ReturnType<typeof createPages>;

import { readFile } from 'node:fs/promises';
import type { HtmlPage } from '#src/contract/browser.js';
import type { Random } from '../crypto/random.js';
import { lazy } from '../runtime/lazy.js';
import { packageFile } from '../runtime/package-root.js';
import { escapeHtml, fillIn, parseTemplate, type Template } from './templates.js';

type Values = Readonly<Record<string, string>>;

/** Parts of a page made of several files. */
interface Composition extends Pick<HtmlPage, 'formTargets' | 'hasFrames' | 'hasViewer'> {
  /** The surrounding page, with `{{content}}` as the placeholder. */
  readonly layout?: string;
  /** Values that are HTML already, made by `fragment`. */
  readonly fragments?: Values;
}

/** Pages for people, served by the service itself. */
export interface Pages {
  /** Renders a part of a page. `fragments` are values that are HTML already. */
  fragment(name: string, values: Values, fragments?: Values): Promise<string>;
  /** Replaces each `{{name}}` of the page with its value, as text; `{{nonce}}` is the nonce of its scripts and styles. */
  render(name: string, values: Values, composition?: Composition): Promise<HtmlPage>;
}

/** Renders the pages of `templates/pages/`; each file is read on first use. */
export function createPages(random: Random): Pages {
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
    fragment: fill,
    render: async (name: string, values: Values, composition: Composition = {}): Promise<HtmlPage> => {
      const nonce = random.bytes(16).toString('base64url');
      const locals = { ...values, nonce };
      const { layout, fragments, ...shown } = composition;
      const content = await fill(name, locals, fragments);
      const html = layout === undefined ? content : await fill(layout, locals, { content });
      return { html, nonce, ...shown };
    },
  };
}

import { readFile } from 'node:fs/promises';
import type { Page } from '#src/contract/operation.js';
import { lazy } from './lazy.js';
import { packageFile } from './package-root.js';
import type { Random } from './random.js';
import { escapeHtml } from './templates.js';

/** Fills the pages of `templates/pages/`; each is read at its first use. */
export function createPages(random: Random) {
  const templates = new Map<string, ReturnType<typeof lazy<string>>>();
  const template = (name: string): Promise<string> => {
    const file = templates.get(name) ?? lazy(() => readFile(packageFile(`templates/pages/${name}.html`), 'utf8'));
    templates.set(name, file);
    return file.get();
  };
  return {
    /** Puts the values, as text, where the page says `{{name}}`; `{{nonce}}` is what its scripts and styles carry. */
    render: async (name: string, values: Readonly<Record<string, string>>): Promise<Page> => {
      const nonce = random.bytes(16).toString('base64url');
      const locals: Readonly<Record<string, string>> = { ...values, nonce };
      const html = (await template(name)).replace(/\{\{(\w+)\}\}/g, (_, key: string) => {
        const value = locals[key];
        if (value === undefined) throw new TypeError(`the page ${name} asks for ${key}`);
        return escapeHtml(value);
      });
      return { html, nonce };
    },
  };
}

/** Pages for people, as the service itself serves them. */
export type Pages = ReturnType<typeof createPages>;

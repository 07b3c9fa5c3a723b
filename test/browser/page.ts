// Pages that load the web SDK as it is published.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Account } from 'appwrite';
import type { Page } from 'playwright-core';
import { serveSite } from '../harness/browser.js';
import { root } from '../harness/checkout.js';

/** The web SDK as published. */
export const webSdk = readFileSync(join(root, 'node_modules/appwrite/dist/iife/sdk.js'), 'utf8');

/** What an SDK call ended with: a value, or what the SDK threw. */
type Outcome<T> =
  | { value: T; error?: never }
  | { value?: never; error: { name: string; code?: number; type?: string } };

/** Serves a page that has made an SDK client for this endpoint and project. */
export function servePage(endpoint: string, projectId: string, certificate?: { cert: string; key: string }) {
  const script = `
    const client = new Appwrite.Client().setEndpoint('${endpoint}').setProject('${projectId}');
    const account = new Appwrite.Account(client);
    const attempt = async (act) => {
      try {
        return { value: await act(account) };
      } catch ({ name, code, type }) {
        return { error: { name, code, type } };
      }
    };`;
  return serveSite(
    {
      '/': {
        type: 'text/html',
        content: `<!doctype html><title>A shop</title><script src="/sdk.js"></script><script>${script}</script>`,
      },
      '/sdk.js': { type: 'text/javascript', content: webSdk },
    },
    certificate,
  );
}

/** Runs something on the page's account service. The function travels as text: it sees the page's world, and nothing of the test's. */
export function onPage<T>(page: Page, act: (account: Account) => Promise<T>): Promise<Outcome<T>> {
  return page.evaluate(`attempt(${act})`);
}

/** What scripts of the page can read of the session. */
export function visible(page: Page): Promise<{ cookie: string; fallback: string | null }> {
  return page.evaluate(`({ cookie: document.cookie, fallback: localStorage.getItem('cookieFallback') })`);
}

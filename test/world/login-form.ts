// What a person does at the pages of an identity provider.
import assert from 'node:assert/strict';
import type { Browser, Step } from '../oauth2/browser.js';

/** The action and the hidden fields of the form of a page. */
function formOf({ text, url }: Step): { action: string; fields: URLSearchParams } {
  const plain = (value = '') => value.replaceAll('&amp;', '&').replaceAll('&#61;', '=');
  const action = plain(/<form[^>]* action="([^"]+)"/i.exec(text)?.[1]);
  assert.notEqual(action, '', `${url}: ${text.slice(0, 3000)}`);
  const fields = [...text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/gi)];
  const entered = Object.fromEntries(fields.map(([, name = '', value]) => [name, plain(value)]));
  return { action: new URL(action, url).href, fields: new URLSearchParams(entered) };
}

/** Posts the form of a page, with what the person enters, and follows where it leads. */
export async function submit(browser: Browser, page: Step, entered: Record<string, string> = {}): Promise<Step> {
  const { action, fields } = formOf(page);
  for (const [name, value] of Object.entries(entered)) fields.set(name, value);
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded', Origin: new URL(page.url).origin };
  const answer = await browser.step(action, { method: 'POST', headers, body: fields.toString() });
  const isApplication = answer.location === null || answer.location.startsWith('http://localhost:3000');
  return isApplication ? answer : browser.open(answer.location ?? '');
}

/** What the API answers the browser. */
export async function ask(browser: Browser, path: string, method = 'GET'): Promise<Record<string, unknown>> {
  const named = { 'X-Appwrite-Project': 'world', Origin: 'http://localhost:3000' };
  const headers = { ...named, 'Content-Type': 'application/json' };
  const { status, text } = await browser.step(`http://localhost:8080/v1${path}`, { method, headers });
  assert.equal(status, 200, text);
  return JSON.parse(text);
}

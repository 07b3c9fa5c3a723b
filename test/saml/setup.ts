// What the tests of SAML share: a server, providers of its project, and a browser that takes a response where it has to go.
import assert from 'node:assert/strict';
import { inflateRawSync } from 'node:zlib';
import type { TestAppliance } from '../harness/appliance.js';
import { type Browser, createBrowser, type Step } from '../oauth2/browser.js';
import { addProvider } from '../oauth2/setup.js';
import { documentOf, encoded, own, type Parts, partsOf, type Said, signed } from './forge.js';

/** The page of the application. */
export const app = 'http://localhost:3000';
const base = 'http://localhost:8080/v1/account/sessions/saml';

/** The addresses of a provider, as the documentation says them. */
export const startOf = (
  key: string,
  given: object = { success: `${app}/done`, failure: `${app}/failed` },
  project = 'main',
) => `${base}/${key}?${new URLSearchParams({ project, ...given })}`;
export const acsOf = (key: string, project = 'main') => `${base}/${key}/acs?project=${project}`;
export const entityIdOf = (key: string, project = 'main') => `${base}/${key}/metadata?project=${project}`;

/** Adds a provider that the tests write the responses of. */
export function addForged(target: Pick<TestAppliance, 'appliance' | 'project'>, key: string, config: object = {}) {
  const { cert } = own;
  const given = {
    entityId: `https://${key}.example`,
    ssoUrl: `https://${key}.example/sso`,
    certificates: [cert],
    ...config,
  };
  return addProvider(target, { key, kind: 'saml', config: given });
}

/** What a browser was sent to the provider with. */
export interface Begun {
  readonly location: URL;
  readonly relayState: string;
  readonly request: string;
  readonly requestId: string;
}

/** Begins a login. */
export async function begin(browser: Browser, key: string, url = startOf(key)): Promise<Begun> {
  const { location, status, text } = await browser.step(url);
  assert.ok(status === 302 && location !== null, text);
  const to = new URL(location);
  const request = inflateRawSync(Buffer.from(to.searchParams.get('SAMLRequest') ?? '', 'base64')).toString();
  const requestId = / ID="([^"]+)"/.exec(request)?.[1] ?? '';
  return { location: to, relayState: to.searchParams.get('RelayState') ?? '', request, requestId };
}

/** Posts a response as the provider makes the browser do. */
export function post(
  browser: Browser,
  key: string,
  fields: Readonly<Record<string, string>>,
  project = 'main',
): Promise<Step> {
  return browser.step(acsOf(key, project), {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', Origin: `https://${key}.example` },
    body: new URLSearchParams(fields).toString(),
  });
}

/** What a response of a provider has to say for a login that was begun. */
export function saidOf(
  target: TestAppliance,
  key: string,
  requestId: string | undefined,
  given: Partial<Said> = {},
): Said {
  return {
    issuer: `https://${key}.example`,
    audience: entityIdOf(key),
    acs: acsOf(key),
    requestId,
    now: target.clock.now(),
    ...given,
  };
}

/** Logs somebody in by a response that holds. */
export async function logIn(
  target: TestAppliance,
  key: string,
  given: Partial<Said> = {},
  { browser = createBrowser(target), url = startOf(key), change = (_: Parts): void => {} } = {},
) {
  const { relayState, requestId } = await begin(browser, key, url);
  const parts = partsOf(saidOf(target, key, requestId, given));
  change(parts);
  const SAMLResponse = encoded(signed(documentOf(parts)));
  const end = await post(browser, key, { SAMLResponse, RelayState: relayState });
  return { browser, end, fields: { SAMLResponse, RelayState: relayState }, session: browser.cookie('svc_main') ?? '' };
}

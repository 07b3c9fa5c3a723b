// A Keycloak of its own for a test file, and what a person does at its login form.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { freePort } from '../harness/free-port.js';
import type { Browser, Step } from '../oauth2/browser.js';
import { submit } from './login-form.js';
import { lacks, startServer } from './world.js';

const folder = process.env.SVC_TEST_KEYCLOAK ?? '';
const program = join(folder, 'bin/kc.sh');

/** The reason to skip the tests that need a Keycloak. */
export const lacksKeycloak = folder === '' ? 'no SVC_TEST_KEYCLOAK' : lacks(program, ['--version'], 'Keycloak');

/** A running Keycloak with one realm, in which one person has an account. */
export interface Keycloak {
  /** Its issuer, and the beginning of its other addresses. */
  readonly realm: string;
  /** Calls its administration of the realm. */
  admin<T>(method: string, path: string, body?: string | object): Promise<T>;
}

/** The person who logs in. */
export const ada = { username: 'ada', email: 'ada@corp.example', firstName: 'Ada', lastName: 'Lovelace' };
const password = 'a fine password';

/** Starts Keycloak until the end of the test file. */
export async function startKeycloak(): Promise<Keycloak> {
  const [port, management] = [await freePort(), await freePort()];
  const ports = [`--http-port=${port}`, `--http-management-port=${management}`];
  const origin = `http://127.0.0.1:${port}`;
  const administrator = { KC_BOOTSTRAP_ADMIN_USERNAME: 'admin', KC_BOOTSTRAP_ADMIN_PASSWORD: password };
  const args = ['start-dev', '--db=dev-mem', '--http-host=127.0.0.1', ...ports];
  await startServer(program, args, `${origin}/realms/master`, administrator);
  const admin: Keycloak['admin'] = async (method, path, body) => {
    const named = { grant_type: 'password', client_id: 'admin-cli', username: 'admin', password };
    const token = await fetch(`${origin}/realms/master/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams(named),
    });
    const { access_token } = (await token.json()) as { access_token: string };
    const response = await fetch(`${origin}/admin/realms${path}`, {
      method,
      headers: { Authorization: `Bearer ${access_token}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  const credentials = [{ type: 'password', value: password }];
  const users = [{ ...ada, enabled: true, emailVerified: true, credentials }];
  await admin('POST', '', { realm: 'corp', enabled: true, sslRequired: 'none', users });
  return { realm: `${origin}/realms/corp`, admin: (method, path, body) => admin(method, `/corp${path}`, body) };
}

/** Enters the person's name and password. */
export const enter = (browser: Browser, page: Step) => submit(browser, page, { username: ada.username, password });

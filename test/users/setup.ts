// A server with a key that manages users, and users made by it.
import { aServerKey } from '../harness/actors.js';
import { type ApplianceOptions, startAppliance, type TestAppliance } from '../harness/appliance.js';
import { type Answer, type Client, createClient } from '../harness/client.js';

/** A server, and its backend. */
export interface Managed {
  readonly target: TestAppliance;
  readonly key: Client;
}

/** Starts a server whose limits are out of the way. */
export async function managed(options: ApplianceOptions = {}): Promise<Managed> {
  const settings = { SVC_RATE_LIMITS: 'signup=1000/60,login=1000/60,data=100000/60', ...options.settings };
  const target = await startAppliance({ ...options, settings });
  return { target, key: (await aServerKey(target)).client };
}

let people = 0;

/** Creates a user with a password by key. */
export async function aManagedUser(
  { key }: Managed,
  given: Record<string, unknown> = {},
): Promise<{ readonly id: string; readonly email: string; readonly password: string }> {
  people += 1;
  const person = { userId: `managed-${people}`, email: `managed${people}@mail.example`, password: 'a fine password' };
  const body = { ...person, ...given };
  (await key.post('/users', body)).expect(201);
  return { id: body.userId, email: body.email, password: body.password };
}

/** Tries to log in. */
export async function tryLogin({ target }: Managed, email: string, password: string): Promise<Answer> {
  return createClient(target).post('/account/sessions/email', { email, password });
}

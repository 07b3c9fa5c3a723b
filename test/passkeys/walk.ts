// Every operation on passkeys, each by somebody for whom it can succeed.
import { aServerKey } from '../harness/actors.js';
import type { TestAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { Authenticator } from './authenticator.js';
import { aKeyholder, creationOptions, paths, register, requestOptions } from './setup.js';

type Step = [id: string, method: string, path: string, body: unknown, client: Client];

/** Prepares the callers and lists what they call. */
export async function passkeyWalk(target: TestAppliance): Promise<Step[]> {
  const guest = createClient(target);
  const { client: key } = await aServerKey(target);
  const { client, device, passkeyId, id, email } = await aKeyholder(target);
  const other = (await register(client, new Authenticator())).expect(201).string('$id');
  const creation = { response: new Authenticator().create(await creationOptions(client)) };
  const login = { email, response: device.get(await requestOptions(guest, email)) };
  return [
    ['account_createPasskeyRegistration', 'POST', paths.registerStart, undefined, client],
    ['account_createPasskey', 'POST', paths.registerFinish, creation, client],
    ['account_createPasskeyLogin', 'POST', paths.loginStart, { email }, guest],
    ['account_createPasskeySession', 'POST', paths.loginFinish, login, guest],
    ['account_listPasskeys', 'GET', '/account/passkeys', undefined, client],
    ['account_updatePasskey', 'PATCH', `/account/passkeys/${passkeyId}`, { name: 'Key ring' }, client],
    ['account_deletePasskey', 'DELETE', `/account/passkeys/${passkeyId}`, undefined, client],
    ['users_listPasskeys', 'GET', `/users/${id}/passkeys`, undefined, key],
    ['users_deletePasskey', 'DELETE', `/users/${id}/passkeys/${other}`, undefined, key],
  ];
}

// People with passkeys, and the calls of both ceremonies.
import type { LoggedInUser } from '../harness/actors.js';
import { aLoggedInUser } from '../harness/actors.js';
import type { TestAppliance } from '../harness/appliance.js';
import type { Answer, Client } from '../harness/client.js';
import { Authenticator, type CreationOptions, type Lie, type RequestOptions } from './authenticator.js';

/** The paths of the ceremonies. */
export const paths = {
  registerStart: '/account/mfa/webauthn/register/start',
  registerFinish: '/account/mfa/webauthn/register/finish',
  loginStart: '/account/webauthn/login/start',
  loginFinish: '/account/webauthn/login/finish',
} as const;

/** Begins a registration. */
export async function creationOptions(client: Client): Promise<CreationOptions> {
  return (await client.post(paths.registerStart)).expect(200).body.options as CreationOptions;
}

/** Begins a login. */
export async function requestOptions(client: Client, email?: string): Promise<RequestOptions> {
  const body = email === undefined ? {} : { email };
  return (await client.post(paths.loginStart, body)).expect(200).body.options as RequestOptions;
}

/** Registers a passkey. */
export async function register(client: Client, device: Authenticator, lie?: Lie, name?: string): Promise<Answer> {
  const response = device.create(await creationOptions(client), lie);
  return client.post(paths.registerFinish, { response, ...(name === undefined ? {} : { name }) });
}

/** Logs in by a passkey, of the address where one is given. */
export async function logInBy(client: Client, device: Authenticator, email?: string, lie?: Lie): Promise<Answer> {
  const response = device.get(await requestOptions(client, email), lie);
  return client.post(paths.loginFinish, { response, ...(email === undefined ? {} : { email }) });
}

/** Somebody who is logged in and has a passkey. */
export type Keyholder = LoggedInUser & { readonly device: Authenticator; readonly passkeyId: string };

/** Signs up, logs in and registers a passkey. */
export async function aKeyholder(
  target: TestAppliance,
  device = new Authenticator(),
  lie?: Lie,
  options?: Parameters<typeof aLoggedInUser>[2],
): Promise<Keyholder> {
  const user = await aLoggedInUser(target, {}, options);
  const passkeyId = (await register(user.client, device, lie)).expect(201).string('$id');
  return { ...user, device, passkeyId };
}

// What the tests of JWTs share: minting, taking apart, and forging with the keys of the database.

import { createHmac, createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { aLoggedInUser, type LoggedInUser } from '../harness/actors.js';
import type { TestAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';
import { openSealed } from '../harness/sealed.js';

/** The header or the claims of a token. */
export type Part = Record<string, unknown>;

/** A user with a session and a token made from it, and a client that knows only the token. */
export interface Bearer extends LoggedInUser {
  readonly jwt: string;
  readonly bearer: Client;
}

/** Makes a token from the session of a client. */
export async function mint(client: Client, wishes?: object): Promise<string> {
  return (await client.post('/account/jwts', wishes)).expect(201).string('jwt');
}

/** Somebody who has logged in and made a token. */
export async function aBearer(target: TestAppliance, wishes: object = {}): Promise<Bearer> {
  const user = await aLoggedInUser(target);
  const jwt = await mint(user.client, wishes);
  return { ...user, jwt, bearer: createClient(target, { jwt }) };
}

/** What a token says, whoever signed it. */
export function decode(token: string): { header: Part; claims: Part } {
  const [header = {}, claims = {}] = token
    .split('.')
    .slice(0, 2)
    .map((part): Part => JSON.parse(Buffer.from(part, 'base64url').toString()));
  return { header, claims };
}

const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');

/** How a forger signs: with a secret, with a private key, or not at all. */
export type Signer = { readonly secret: Buffer | string } | { readonly key: KeyObject } | undefined;

/** A token with this header and these claims. */
export function forge(header: unknown, claims: unknown, signer: Signer): string {
  const text = `${encode(header)}.${encode(claims)}`;
  if (signer === undefined) return `${text}.`;
  const signature =
    'secret' in signer
      ? createHmac('sha256', signer.secret).update(text).digest()
      : sign('sha256', Buffer.from(text), signer.key);
  return `${text}.${signature.toString('base64url')}`;
}

/** The key that a project signs with, as whoever holds database and master key could read it. */
export async function keyOf(
  { appliance }: TestAppliance,
  alg: 'HS256' | 'RS256',
  projectId = 'main',
): Promise<{ kid: string; signer: Exclude<Signer, undefined> }> {
  const { runtime, features } = appliance;
  const project = await features.projects.get(runtime.db, projectId);
  const rows = (await rowsOf({ appliance } as TestAppliance, 'signing_keys', projectId)).filter(
    (row) => row.alg === alg,
  );
  const kid = String(rows.at(-1)?.kid);
  const opened = openSealed({ appliance }, project, ['signing_keys', 'secret', kid], rows.at(-1)?.secret);
  return {
    kid,
    signer: alg === 'HS256' ? { secret: Buffer.from(opened, 'base64url') } : { key: createPrivateKey(opened) },
  };
}

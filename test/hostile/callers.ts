// Who asks: guests, users by session and by JWT, and server keys. Whoever has deleted or locked out itself comes back as somebody new.
import assert from 'node:assert/strict';
import type { Random } from '../documents/random.js';
import type { Credential } from './described.js';
import type { Pool } from './pool.js';
import type { Received, Wire } from './wire.js';

type Headers = Readonly<Record<string, string>>;

/** Somebody who asks. */
export interface Caller {
  readonly credential: Credential;
  /** Changes when it has become somebody else. */
  headers: Headers;
  /** Refusals since it was last let in. */
  refusals: number;
}

/** Refusals in a row after which a caller is asked whether it still exists. */
const suspicious = 4;

/** Creates the callers; the first key makes the users. */
export async function createCallers(wire: Wire, keys: readonly Headers[], pool: Pool) {
  const [upkeep = {}, ...others] = keys;
  const project = { 'X-Service-Project': upkeep['X-Service-Project'] ?? '' };
  let people = 0;

  const post = async (headers: Headers, path: string, body: object): Promise<Record<string, string>> => {
    const answer = await wire.send({
      ...{ method: 'POST', target: `/v1${path}`, chunked: false, body: Buffer.from(JSON.stringify(body)) },
      headers: [...Object.entries(headers), ['Content-Type', 'application/json']],
    });
    assert.ok(answer.status < 300, `${path}: ${answer.status} ${answer.text}`);
    return JSON.parse(answer.text);
  };
  const newcomer = async (): Promise<Headers> => {
    people += 1;
    const email = `newcomer-${people}-${Date.now()}@mail.example`;
    const { $id = '' } = await post(upkeep, '/users', { userId: 'unique()', email, password: 'long enough 1' });
    const { secret = '' } = await post(upkeep, `/users/${$id}/sessions`, {});
    pool.add('userId', { userId: $id });
    return { ...project, 'X-Service-Session': secret };
  };
  const headersOf: Readonly<Record<Credential, () => Promise<Headers>>> = {
    guest: async () => project,
    key: async () => others[0] ?? upkeep,
    session: newcomer,
    jwt: async () => ({ ...project, 'X-Service-JWT': (await post(await newcomer(), '/account/jwts', {})).jwt ?? '' }),
  };
  const create = async (credential: Credential): Promise<Caller> => {
    return { credential, headers: await headersOf[credential](), refusals: 0 };
  };
  const callers: Caller[] = [];
  for (const credential of ['guest', 'session', 'session', 'session', 'jwt', 'jwt'] as const)
    callers.push(await create(credential));
  for (const headers of others) callers.push({ credential: 'key', headers, refusals: 0 });

  return {
    /** What guests send, and what upkeep does. */
    project,
    upkeep,
    post,
    choose: (credential: Credential, random: Random): Caller =>
      random.pick(callers.filter((caller) => caller.credential === credential)),
    /** Looks whether the caller is still let in, and makes it somebody new where it is not. */
    note: async (caller: Caller, { status }: Received): Promise<void> => {
      if (caller.credential !== 'session' && caller.credential !== 'jwt') return;
      if (status < 300) caller.refusals = 0;
      else if (status === 401 || status === 403) caller.refusals += 1;
      if (caller.refusals < suspicious) return;
      caller.refusals = 0;
      const headers = Object.entries(caller.headers);
      const seen = await wire.send({ method: 'GET', target: '/v1/account', headers, body: undefined, chunked: false });
      if (seen.status === 401 || seen.status === 403) caller.headers = await headersOf[caller.credential]();
    },
  };
}

/** Who asks. */
export type Callers = Awaited<ReturnType<typeof createCallers>>;

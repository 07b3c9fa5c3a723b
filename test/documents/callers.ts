// Who asks for documents, and what the rules say each of them may do.
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import type { TestAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { runSql } from '../harness/database.js';

/** Somebody who asks. */
export interface Caller {
  readonly name: string;
  readonly client: Client;
  /** The roles held; null for a server key, which needs none. */
  readonly roles: readonly string[] | null;
  /** A key that lacks the scopes of documents. */
  readonly scopeless?: boolean;
}

/** Everybody who asks in the tests of permissions, by name. */
type Callers = Readonly<Record<'guest' | 'ada' | 'bob' | 'eve' | 'mia' | 'key' | 'weakKey', Caller>>;

/** The team that Bob owns and Mia cooks for; Ada has been invited to cook, too, and has not answered. */
export const crew = 'crew';

/** Ada, Bob and Mia have unconfirmed addresses; Eve's is confirmed, and she has the label `gold`. */
export async function someCallers(target: TestAppliance): Promise<Callers> {
  const [ada, bob, eve] = [await aLoggedInUser(target), await aLoggedInUser(target), await aLoggedInUser(target)];
  await runSql(target, `update users set email_verification = 1, labels = '["gold"]' where id = ?`, [eve.id]);
  const mia = await aLoggedInUser(target);
  const { client: key } = await aServerKey(target);
  const memberships = `/teams/${crew}/memberships`;
  (await bob.client.post('/teams', { teamId: crew, name: 'Crew' })).expect(201);
  const invitation = { email: ada.email, roles: ['cook'], url: 'http://localhost/join' };
  (await bob.client.post(memberships, invitation)).expect(201);
  (await key.post(memberships, { userId: mia.id, roles: ['cook', 'night shift'] })).expect(201);
  const joined = new Map((await key.get(memberships)).list('memberships').map(({ userId, $id }) => [userId, $id]));
  const inCrew = (id: string, ...roles: string[]) => [
    ...[`team:${crew}`, `member:${joined.get(id)}`],
    ...roles.map((role) => `team:${crew}/${role}`),
  ];
  const own = (id: string, state: string) => ['any', 'users', `users/${state}`, `user:${id}`, `user:${id}/${state}`];
  const weak = await aServerKey(target, { scopes: ['databases.read', 'collections.read'] });
  return {
    guest: { name: 'a guest', client: createClient(target), roles: ['any', 'guests'] },
    ada: { name: ada.id, client: ada.client, roles: own(ada.id, 'unverified') },
    bob: { name: bob.id, client: bob.client, roles: [...own(bob.id, 'unverified'), ...inCrew(bob.id, 'owner')] },
    eve: { name: eve.id, client: eve.client, roles: [...own(eve.id, 'verified'), 'label:gold'] },
    mia: {
      ...{ name: mia.id, client: mia.client },
      roles: [...own(mia.id, 'unverified'), ...inCrew(mia.id, 'cook', 'night shift')],
    },
    key: { name: 'a key', client: key, roles: null },
    weakKey: { name: 'a key without scope', client: weak.client, roles: null, scopeless: true },
  };
}

/** What is done with documents. */
export const actions = ['create', 'read', 'update', 'delete'] as const;
/** One of them. */
export type Action = (typeof actions)[number];

/** Where permissions stand. */
export interface Place {
  readonly collection: readonly string[];
  readonly documentSecurity: boolean;
  readonly document: readonly string[];
}

const grants = (permissions: readonly string[], action: Action, { roles }: Caller) =>
  roles === null || roles.some((role) => permissions.includes(`${action}("${role}")`));

/** Whether the rules allow an action on a document. */
export function allowed(caller: Caller, action: Action, { collection, documentSecurity, document }: Place): boolean {
  if (grants(collection, action, caller)) return true;
  return action !== 'create' && documentSecurity && grants(document, action, caller);
}

/** How a list is answered: everything, only some rows, or not at all. */
export function allowsList(caller: Caller, { collection, documentSecurity }: Place): boolean {
  return documentSecurity || grants(collection, 'read', caller);
}

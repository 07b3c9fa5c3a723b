import { forEachNumber, type Maker, make } from './maker.js';

/** Users who are logged in and never log in again, so that no login pushes their sessions out. */
export interface People {
  /** Secrets of sessions, each of another user. */
  readonly sessions: readonly string[];
  /** Users who own documents. */
  readonly owners: readonly string[];
  /** Secrets of the owners' sessions: session `n` is of owner `n` modulo the number of owners. */
  readonly ownerSessions: readonly string[];
}

const sessionCount = 2000;
const ownerCount = 100;

/** Sessions of an owner; more than a user may have by default. */
export const sessionsOfOwner = sessionCount / ownerCount;

/** The id of an owner; beyond the users that exist, it is only a name in permissions. */
export const ownerId = (number: number): string => `owner${number}`;

/** Creates the users with the server key, since signing up 2 000 of them would be 2 000 hashes. */
export async function createPeople(maker: Maker): Promise<People> {
  const owners = await forEachNumber(ownerCount, (number) => createUser(maker, ownerId(number)));
  const readers = await forEachNumber(sessionCount, (number) => createUser(maker, `reader${number}`));
  const sessions = await forEachNumber(sessionCount, (number) => logIn(maker, readers[number] ?? ''));
  const ownerSessions = await forEachNumber(sessionCount, (number) => logIn(maker, owners[number % ownerCount] ?? ''));
  return { sessions, owners, ownerSessions };
}

async function createUser(maker: Maker, userId: string): Promise<string> {
  await make(maker, '/v1/users', { userId, email: `${userId}@example.com`, name: 'Ada Lovelace' });
  return userId;
}

async function logIn(maker: Maker, userId: string): Promise<string> {
  const { secret } = await make(maker, `/v1/users/${userId}/sessions`, {});
  if (typeof secret !== 'string' || secret === '') throw new Error('a session without a secret');
  return secret;
}

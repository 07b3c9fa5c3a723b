// Who calls: people with accounts, people who are logged in, applications with a key.
import type { Instant } from '#src/contract/shapes.js';
import type { TestAppliance } from './appliance.js';
import { type Client, type ClientOptions, createClient } from './client.js';

/** Somebody with an account. */
interface TestUser {
  readonly id: string;
  readonly email: string;
  readonly password: string;
  readonly name: string;
}

/** Somebody with an account and a session, and the client that sends it in a header. */
export interface LoggedInUser extends TestUser {
  readonly sessionId: string;
  readonly secret: string;
  readonly client: Client;
}

/** An application's own backend. */
interface TestKey {
  readonly id: string;
  readonly secret: string;
  readonly client: Client;
}

let people = 0;

/** Data for a sign-up that nobody used yet. */
export function aPerson(given: Partial<TestUser> = {}): TestUser {
  people += 1;
  const name = `Person ${people}`;
  return {
    id: `person-${people}`,
    email: `person${people}@mail.example`,
    password: `long enough ${people}`,
    name,
    ...given,
  };
}

/** The body of a sign-up. */
export function signUpBody({ id, ...rest }: TestUser): Record<string, string> {
  return { userId: id, ...rest };
}

/** Somebody who has signed up. */
export async function aUser(
  target: TestAppliance,
  given: Partial<TestUser> = {},
  options?: ClientOptions,
): Promise<TestUser> {
  const person = aPerson(given);
  (await createClient(target, options).post('/account', signUpBody(person))).expect(201);
  return person;
}

/** Logs a user in and returns the new session with a client that uses it. */
export async function logIn(target: TestAppliance, user: TestUser, options: ClientOptions = {}): Promise<LoggedInUser> {
  const { email, password } = user;
  const answer = (await createClient(target, options).post('/account/sessions/email', { email, password })).expect(201);
  const secret = answer.string('secret');
  const client = createClient(target, { ...options, session: secret });
  return { ...user, sessionId: answer.string('$id'), secret, client };
}

/** Somebody who has signed up and logged in. */
export async function aLoggedInUser(
  target: TestAppliance,
  given: Partial<TestUser> = {},
  options: ClientOptions = {},
): Promise<LoggedInUser> {
  return logIn(target, await aUser(target, given, options), options);
}

/** A server key of the test's project, with every scope unless told otherwise. */
export async function aServerKey(
  target: TestAppliance,
  given: { scopes?: readonly string[]; expire?: Instant | null; projectId?: string } = {},
): Promise<TestKey> {
  const { scopes = ['all'], expire = null, projectId = target.project.id } = given;
  const { runtime, features } = target.appliance;
  const by = { projectId, actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
  const { id, secret } = await runtime.db.work(by, (unit) =>
    features.serverKeys.create(unit, projectId, { name: 'test', scopes, expire }),
  );
  return { id, secret, client: createClient(target, { project: projectId, key: secret }) };
}

import { type Articles, createArticles } from './articles.js';
import { type BenchRequest, sendOnce } from './request.js';

/** Someone who can log in. */
export interface Account {
  readonly email: string;
  readonly password: string;
}

/** What the requests of the scenarios are made of; filled once per database, before anything is measured. */
export interface World {
  readonly project: string;
  /** A server key with every scope. */
  readonly key: string;
  /** Session secrets of several readers, who never log in again, so that no login pushes these sessions out. */
  readonly sessions: readonly string[];
  /** Accounts for the login load. */
  readonly accounts: readonly Account[];
  /** Documents. */
  readonly articles: Articles;
}

const accountCount = 8;
const password = 'correct horse battery';

/** Signs the accounts up, logs the readers in and writes the documents. */
export async function createWorld(port: number, project: string, key: string): Promise<World> {
  const accounts: Account[] = [];
  const sessions: string[] = [];
  for (let number = 0; number < accountCount; number++) {
    accounts.push(await signUp(port, project, `login${number}@example.com`));
    const reader = await signUp(port, project, `reader${number}@example.com`);
    const { secret } = await expectCreated(port, loginRequest(project, reader));
    if (typeof secret !== 'string' || secret === '') throw new Error('a login without a secret');
    sessions.push(secret);
  }
  return { project, key, sessions, accounts, articles: await createArticles({ port, project, key }) };
}

/** A login with e-mail and password. */
export function loginRequest(project: string, account: Account): BenchRequest {
  const headers = { 'X-Service-Project': project };
  return { method: 'POST', path: '/v1/account/sessions/email', headers, body: account };
}

async function signUp(port: number, project: string, email: string): Promise<Account> {
  const body = { userId: 'unique()', email, password, name: 'Ada Lovelace' };
  await expectCreated(port, { method: 'POST', path: '/v1/account', headers: { 'X-Service-Project': project }, body });
  return { email, password };
}

async function expectCreated(port: number, request: BenchRequest): Promise<Record<string, unknown>> {
  const response = await sendOnce(request, port);
  const text = await response.text();
  if (response.status !== 201) throw new Error(`${request.method} ${request.path}: ${response.status} ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

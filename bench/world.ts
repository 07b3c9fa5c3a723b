import { type Articles, createArticles } from './articles.js';
import { expectStatus, type Maker } from './maker.js';
import { createPeople, type People } from './people.js';
import type { BenchRequest } from './request.js';
import { createSecured, type Secured } from './secured.js';
import { createTogether } from './together.js';

/** Someone who can log in. */
export interface Account {
  readonly email: string;
  readonly password: string;
}

/** What the requests of the scenarios are made of; filled once per database, before anything is measured. */
export interface World extends People {
  readonly project: string;
  /** A server key with every scope. */
  readonly key: string;
  /** Accounts for the login load. */
  readonly accounts: readonly Account[];
  /** Documents of a collection that every user may read. */
  readonly articles: Articles;
  /** Collections with document security. */
  readonly secured: Secured;
}

const accountCount = 8;
const password = 'correct horse battery';

/** Signs the accounts up, creates and logs in the readers, and writes the documents; those of `secured` are only begun. */
export async function createWorld(maker: Maker, rows: number): Promise<World> {
  const { port, project, key } = maker;
  const accounts: Account[] = [];
  for (let number = 0; number < accountCount; number++)
    accounts.push(await signUp(port, project, `login${number}@example.com`));
  const people = await createPeople(maker);
  const articles = await createArticles(maker);
  await createTogether(maker);
  return { project, key, ...people, accounts, articles, secured: await createSecured(maker, rows) };
}

/** A login with email and password. */
export function loginRequest(project: string, account: Account): BenchRequest {
  const headers = { 'X-Service-Project': project };
  return { method: 'POST', path: '/v1/account/sessions/email', headers, body: account };
}

async function signUp(port: number, project: string, email: string): Promise<Account> {
  const body = { userId: 'unique()', email, password, name: 'Ada Lovelace' };
  const headers = { 'X-Service-Project': project };
  await expectStatus({ method: 'POST', path: '/v1/account', headers, body }, port, 201);
  return { email, password };
}

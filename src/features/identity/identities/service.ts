import { Failure } from '#src/contract/errors.js';
import { identityLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import { noTokens, type ProviderTokens } from '#src/contract/session.js';
import type { UserRecord } from '#src/contract/user.js';
import { readAnswer } from '#src/platform/db/answer-reader.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { ListRequest, Lists } from '#src/platform/list-query/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import type { Courier } from '../../installation/index.js';
import type { Providers } from '../providers/index.js';
import { accountRecord } from '../users/index.js';
import { createIdentityStore, type IdentityRow, identities, identityFields, sealedTokens } from './store.js';

/** A user's account at an identity provider. */
export type Identity = IdentityRow;

/** Account data that a provider has confirmed. */
export interface IdentityProof {
  readonly provider: string;
  readonly providerUid: string;
  readonly providerEmail: string;
  readonly tokens: ProviderTokens;
}

type IdentityPage = { readonly total: number; readonly identities: Identity[] };
type TokensOfSession = (session: { readonly provider: string; readonly providerUid: string }) => ProviderTokens;

/** Users' accounts at identity providers. */
export interface Identities {
  /** An identity by the provider's own id of the account. */
  find(reader: Reader, project: Project, provider: string, providerUid: string): Promise<Identity | undefined>;
  findById(reader: Reader, project: Project, id: string): Promise<Identity | undefined>;
  /** A page of the identities of a user, or of all users. Throws Failure `general_argument_invalid` and `general_cursor_not_found`. */
  list(project: Project, request: ListRequest, userId?: string): Promise<IdentityPage>;
  /** The identities of a user, oldest first. */
  ofUser(reader: Reader, project: Project, userId: string): Promise<Identity[]>;
  /** True if the user has at least one identity. */
  hasAny(reader: Reader, project: Project, userId: string): Promise<boolean>;
  /** Number of identities at a provider. */
  countAt(reader: Reader, project: Project, provider: string): Promise<number>;
  /** Links an account at a provider to a user; undefined if it is linked already. Throws Failure `user_identity_limit_exceeded`. */
  link(unit: Unit, project: Project, userId: string, proof: IdentityProof): Promise<Identity | undefined>;
  /** Updates an existing identity with the provider's current data. */
  renew(unit: Unit, project: Project, identity: Identity, proof: IdentityProof): Promise<Identity>;
  /** Unlinks an identity from its user and notifies the user by mail. */
  unlink(unit: Unit, project: Project, user: UserRecord, identity: Identity): Promise<void>;
  /** Notifies the user by mail that the identity can now be used to log in. */
  tellLinked(unit: Unit, project: Project, user: UserRecord, identity: Identity): Promise<void>;
  /** The OAuth tokens of an identity; empty if there are none. */
  tokensOf(project: Project, identity: Identity): ProviderTokens;
  /** `tokensOf` for sessions of a user, each by the identity that opened it. */
  tokensOfSessions(reader: Reader, project: Project, userId: string): Promise<TokensOfSession>;
  /** Replaces the tokens that were read with the identity by refreshed ones; false if they have changed since. */
  replaceTokens(unit: Unit, project: Project, identity: Identity, tokens: ProviderTokens): Promise<boolean>;
}

type IdentityStore = ReturnType<typeof createIdentityStore>;

interface Deps extends Pick<Runtime, 'db' | 'random' | 'sealing'> {
  readonly lists: Lists;
  readonly courier: Courier;
  readonly providers: Providers;
  readonly store: IdentityStore;
}

const aadOf = (id: string) => ({ column: sealedTokens, row: id });
const decoded = (row: Parameters<typeof identities.decode>[0] | undefined) => row && identities.decode(row);

/** Creates the identities service. */
export function createIdentities(given: Omit<Deps, 'store'> & Pick<Runtime, 'sql'>): Identities {
  const store = createIdentityStore(given.sql);
  const deps: Deps = { ...given, store };
  return {
    ...bind(deps, { list, link, renew, unlink, tokensOf, tokensOfSessions, replaceTokens }),
    find: async (reader, project, provider, providerUid) =>
      decoded(await reader.one(store.findByUid(project.id, provider, providerUid))),
    findById: async (reader, project, id) => decoded(await reader.one(store.find(project.id, id))),
    ofUser: (reader, project, userId) => ofUser(deps, reader, project, userId),
    hasAny: async (reader, project, userId) => (await reader.one(store.anyOf(project.id, userId))) !== undefined,
    countAt: async (reader, project, provider) =>
      Number((await reader.one(store.countAt(project.id, provider)))?.count),
    tellLinked: (unit, project, user, identity) => notify(deps, unit, project, user, 'identity-linked', identity),
  };
}

function list({ db, lists, store }: Deps, project: Project, request: ListRequest, userId?: string) {
  return readAnswer(db, request, async (snapshot) => {
    const rows = store.rows(project.id, userId);
    const search = ['id', 'provider', 'provider_uid', 'provider_email'];
    const listing = { rows, select: identities.row, fields: identityFields, search };
    const { total, rows: found } = await lists.page(snapshot, listing, request);
    return { total, identities: found.map((row) => identities.decode(row)) };
  });
}

async function link(deps: Deps, unit: Unit, project: Project, userId: string, { tokens, ...proof }: IdentityProof) {
  const { random, store } = deps;
  // The caller has locked the user, so parallel links cannot exceed the limit.
  const { count } = (await unit.one(store.countOf(project.id, userId))) ?? {};
  if (Number(count) >= identityLimits.perUser) throw new Failure('user_identity_limit_exceeded');
  const id = random.id();
  const times = { createdAt: unit.now, updatedAt: unit.now };
  const row = { projectId: project.id, id, userId, ...proof, ...tokenColumns(deps, project, id, tokens), ...times };
  if ((await unit.one(store.insert(row))) === undefined) return undefined;
  unit.record('identityLinked', recorded(row));
  return row;
}

function tokenColumns({ sealing }: Deps, project: Project, id: string, tokens: ProviderTokens) {
  const { accessToken, refreshToken, expires } = tokens;
  const text = accessToken === '' && refreshToken === '' ? null : JSON.stringify({ accessToken, refreshToken });
  const sealed = text && sealing.seal(project.id, project.dataKey, aadOf(id), text);
  return { tokens: sealed, tokenExpires: expires };
}

function recorded({ userId, provider, providerUid }: Identity) {
  return accountRecord(userId, { provider, providerUid });
}

async function renew(deps: Deps, unit: Unit, project: Project, identity: Identity, proof: IdentityProof) {
  const { id } = identity;
  const { providerEmail, tokens } = proof;
  const change = { providerEmail, ...tokenColumns(deps, project, id, tokens), updatedAt: unit.now };
  await unit.run(deps.store.update(project.id, id, change));
  return { ...identity, ...change };
}

async function unlink(deps: Deps, unit: Unit, project: Project, user: UserRecord, identity: Identity) {
  if ((await unit.run(deps.store.remove(project.id, identity.id))) === 0) throw new Failure('user_identity_not_found');
  unit.record('identityUnlinked', recorded(identity));
  await notify(deps, unit, project, user, 'identity-unlinked', identity);
}

async function notify(
  { courier, providers }: Deps,
  unit: Unit,
  project: Project,
  { id: userId, email, name, locale }: UserRecord,
  message: 'identity-linked' | 'identity-unlinked',
  identity: Identity,
): Promise<void> {
  if (email === null) return;
  const { name: provider } = await providers.get(unit, project, identity.provider);
  const variables = { provider, account: identity.providerEmail, at: unit.now };
  courier.send(unit, project, { message, to: email, userId, name, locale, variables });
}

function tokensOf({ sealing }: Deps, project: Project, { id, tokens, tokenExpires }: Identity): ProviderTokens {
  const text = tokens === null ? undefined : sealing.tryOpen(project.id, project.dataKey, aadOf(id), tokens);
  return text === undefined ? noTokens : { ...JSON.parse(text), expires: tokenExpires };
}

async function ofUser({ store }: Deps, reader: Reader, project: Project, userId: string): Promise<Identity[]> {
  return (await reader.all(store.ofUser(project.id, userId))).map((row) => identities.decode(row));
}

async function tokensOfSessions(
  deps: Deps,
  reader: Reader,
  project: Project,
  userId: string,
): Promise<TokensOfSession> {
  const found = await ofUser(deps, reader, project, userId);
  return ({ provider, providerUid }) => {
    const own = found.find((one) => one.provider === provider && one.providerUid === providerUid);
    return own === undefined ? noTokens : tokensOf(deps, project, own);
  };
}

async function replaceTokens(deps: Deps, unit: Unit, project: Project, identity: Identity, tokens: ProviderTokens) {
  const { id, tokens: before } = identity;
  if (before === null) return false;
  const change = { ...tokenColumns(deps, project, id, tokens), updatedAt: unit.now };
  return (await unit.run(deps.store.replaceTokens(project.id, id, before, change))) > 0;
}

import { mapLook } from '#src/contract/answer-room.js';
import { Failure } from '#src/contract/errors.js';
import { identityLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import { noTokens, type ProviderTokens } from '#src/contract/session.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { type ListRequest, type Lists, readList } from '#src/platform/list-query/index.js';
import type { Courier } from '../../installation/index.js';
import type { Providers } from '../providers/index.js';
import { createIdentityStore, type IdentityRow, identities, identityFields, sealedTokens } from './store.js';

/** An account with an identity provider, and whose user it is. */
export type Identity = IdentityRow;

/** What a provider has proved of somebody. */
export interface IdentityProof {
  readonly provider: string;
  readonly providerUid: string;
  readonly providerEmail: string;
  readonly tokens: ProviderTokens;
}

/** Accounts with identity providers by which users log in. */
export interface Identities {
  /** By what the provider calls it. */
  find(reader: Reader, project: Project, provider: string, providerUid: string): Promise<Identity | undefined>;
  findById(reader: Reader, project: Project, id: string): Promise<Identity | undefined>;
  /** A page of those of a user, or of all users. Throws Failure `general_argument_invalid` and `general_cursor_not_found`. */
  list(
    project: Project,
    request: ListRequest,
    userId?: string,
  ): Promise<{ readonly total: number; readonly identities: Identity[] }>;
  /** Whether a user has any. */
  hasAny(reader: Reader, project: Project, userId: string): Promise<boolean>;
  /** How many users a provider lets in. */
  countAt(reader: Reader, project: Project, provider: string): Promise<number>;
  /** Gives it to a user; undefined where another one has it. Throws Failure `user_identity_limit_exceeded`. */
  link(unit: Unit, project: Project, userId: string, proof: IdentityProof): Promise<Identity | undefined>;
  /** Keeps what the provider says now of one that a user has. */
  renew(unit: Unit, project: Project, identity: Identity, proof: IdentityProof): Promise<Identity>;
  /** Takes it away from its user, and tells them by mail. */
  unlink(unit: Unit, project: Project, user: UserRecord, identity: Identity): Promise<void>;
  /** Tells the user by mail that somebody can log in by it from now on. */
  tellLinked(unit: Unit, project: Project, user: UserRecord, identity: Identity): Promise<void>;
  /** What the provider lets the application do; empty where nothing. */
  tokensOf(project: Project, identity: Identity): ProviderTokens;
  /** The same for the sessions of a user, by the identity that each was opened by. */
  tokensOfSessions(
    reader: Reader,
    project: Project,
    userId: string,
  ): Promise<(session: { readonly provider: string; readonly providerUid: string }) => ProviderTokens>;
  /** Puts refreshed tokens in the place of those that were read with the identity; false where others have come meanwhile. */
  replaceTokens(unit: Unit, project: Project, identity: Identity, tokens: ProviderTokens): Promise<boolean>;
}

interface Deps {
  readonly lists: Lists;
  readonly courier: Courier;
  readonly providers: Providers;
}

/** Creates the service of identities. */
export function createIdentities(
  { db, sql, random, sealing }: Pick<Runtime, 'db' | 'sql' | 'random' | 'sealing'>,
  { lists, courier, providers }: Deps,
): Identities {
  const store = createIdentityStore(sql);
  const aadOf = (id: string) => ({ column: sealedTokens, row: id });
  const decoded = (row: Parameters<typeof identities.decode>[0] | undefined) => row && identities.decode(row);
  const tokenColumns = (project: Project, id: string, { accessToken, refreshToken, expires }: ProviderTokens) => ({
    tokens:
      accessToken === '' && refreshToken === ''
        ? null
        : sealing.seal(project.id, project.dataKey, aadOf(id), JSON.stringify({ accessToken, refreshToken })),
    tokenExpires: expires,
  });
  const tokensOf: Identities['tokensOf'] = (project, { id, tokens, tokenExpires }) => {
    const text = tokens === null ? undefined : sealing.tryOpen(project.id, project.dataKey, aadOf(id), tokens);
    return text === undefined ? noTokens : { ...JSON.parse(text), expires: tokenExpires };
  };
  const recorded = ({ userId, provider, providerUid }: Identity) => ({
    resource: `users/${userId}`,
    userId,
    payload: { userId, provider, providerUid },
  });

  const notify = async (
    unit: Unit,
    project: Project,
    { id: userId, email, name, locale }: UserRecord,
    message: 'identity-linked' | 'identity-unlinked',
    identity: Identity,
  ): Promise<void> => {
    if (email === null) return;
    const { name: provider } = await providers.get(unit, project, identity.provider);
    const variables = { provider, account: identity.providerEmail, at: unit.now };
    courier.send(unit, project, { message, to: email, userId, name, locale, variables });
  };

  return {
    find: async (reader, project, provider, providerUid) =>
      decoded(await reader.one(store.findByUid(project.id, provider, providerUid))),
    findById: async (reader, project, id) => decoded(await reader.one(store.find(project.id, id))),
    list: (project, request, userId) =>
      readList(db, request, async (snapshot, maxBytes) => {
        const rows = store.rows(project.id, userId);
        const search = ['id', 'provider', 'provider_uid', 'provider_email'];
        const listing = { rows, select: store.columns(), fields: identityFields, search };
        const page = await lists.page(snapshot, listing, request, maxBytes);
        return mapLook(page, ({ total, rows: found }) => ({
          total,
          identities: found.map((row) => identities.decode(row)),
        }));
      }),
    hasAny: async (reader, project, userId) => (await reader.one(store.anyOf(project.id, userId))) !== undefined,
    countAt: async (reader, project, provider) =>
      Number((await reader.one(store.countAt(project.id, provider)))?.count),
    link: async (unit, project, userId, { tokens, ...proof }) => {
      // The caller holds the user, so of identities linked at once none is one too many.
      const { count } = (await unit.one(store.countOf(project.id, userId))) ?? {};
      if (Number(count) >= identityLimits.perUser) throw new Failure('user_identity_limit_exceeded');
      const id = random.id();
      const times = { createdAt: unit.now, updatedAt: unit.now };
      const row = { projectId: project.id, id, userId, ...proof, ...tokenColumns(project, id, tokens), ...times };
      if ((await unit.one(store.insert(row))) === undefined) return undefined;
      unit.record('identityLinked', recorded(row));
      return row;
    },
    renew: async (unit, project, identity, { providerEmail, tokens }) => {
      const { id } = identity;
      const change = { providerEmail, ...tokenColumns(project, id, tokens), updatedAt: unit.now };
      await unit.run(store.update(project.id, id, change));
      return { ...identity, ...change };
    },
    unlink: async (unit, project, user, identity) => {
      if ((await unit.run(store.remove(project.id, identity.id))) === 0) throw new Failure('user_identity_not_found');
      unit.record('identityUnlinked', recorded(identity));
      await notify(unit, project, user, 'identity-unlinked', identity);
    },
    tellLinked: (unit, project, user, identity) => notify(unit, project, user, 'identity-linked', identity),
    tokensOf,
    tokensOfSessions: async (reader, project, userId) => {
      const found = (await reader.all(store.ofUser(project.id, userId))).map((row) => identities.decode(row));
      return ({ provider, providerUid }) => {
        const own = found.find((one) => one.provider === provider && one.providerUid === providerUid);
        return own === undefined ? noTokens : tokensOf(project, own);
      };
    },
    replaceTokens: async (unit, project, { id, tokens: before }, tokens) => {
      if (before === null) return false;
      const change = { ...tokenColumns(project, id, tokens), updatedAt: unit.now };
      return (await unit.run(store.replaceTokens(project.id, id, before, change))) > 0;
    },
  };
}

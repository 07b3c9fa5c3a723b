import { crc32 } from 'node:zlib';
import { type Scope, type ServerKey, scopes } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { projectLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { Instant } from '#src/contract/shapes.js';
import { digest, equalDigests } from '#src/platform/crypto/digest.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { isRecent, millisecondsOf } from '#src/platform/runtime/clock.js';
import { requireName } from './names.js';
import { apiKeys, type ProjectStore } from './store.js';

/** A server key without its secret. */
export type ApiKey = Omit<ReturnType<typeof apiKeys.decode>, 'secretDigest'>;

interface NewKey {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expire: Instant | null;
}

/** Granularity of a key's last use: one day. */
const accessMs = 86_400_000;

/** Server keys of projects. */
export interface ServerKeys {
  list(reader: Reader, projectId: string): Promise<ApiKey[]>;
  /** Creates a key. Only this response contains the secret. Throws Failure for unknown scopes and an expiry in the past. */
  create(unit: Unit, projectId: string, input: NewKey): Promise<ApiKey & { readonly secret: string }>;
  /** A key by its id or, within a project, by its name. Throws Failure if there is none, or several with that name. */
  find(reader: Reader, idOrName: string, projectId?: string): Promise<ApiKey>;
  revoke(unit: Unit, id: string): Promise<void>;
  /** True if a key accepted earlier is still valid and has the scope, if one is given. */
  counts(project: Project, id: string, scope?: Scope): Promise<boolean>;
  /** Authenticates a key as an actor. Throws Failure if it is unknown, expired, or of another project. */
  authenticate(project: Project, text: string): Promise<ServerKey>;
}

interface Deps extends Pick<Runtime, 'db' | 'clock' | 'random'> {
  readonly store: ProjectStore;
}

/** The server keys of projects (`X-Service-Key`). */
export function createServerKeys(
  { db, clock, random }: Pick<Runtime, 'db' | 'clock' | 'random'>,
  store: ProjectStore,
): ServerKeys {
  const deps: Deps = { db, clock, random, store };
  return bind(deps, { list, create, find, revoke, counts, authenticate });
}

async function list({ store }: Deps, reader: Reader, projectId: string): Promise<ApiKey[]> {
  return (await reader.all(store.keys(projectId))).map((row) => withoutSecret(apiKeys.decode(row)));
}

function withoutSecret({ secretDigest: _, ...key }: ReturnType<typeof apiKeys.decode>): ApiKey {
  return key;
}

async function create({ clock, random, store }: Deps, unit: Unit, projectId: string, input: NewKey) {
  const { name, scopes: granted, expire } = input;
  requireName('server key', name);
  const wrong = granted.filter((scope) => scope !== 'all' && !(scopes as readonly string[]).includes(scope));
  if (wrong.length > 0 || granted.length === 0) {
    throw new Failure('general_argument_invalid', {
      message: `Unknown scopes: ${wrong.join(', ') || 'none given'}. Known: all, ${scopes.join(', ')}.`,
    });
  }
  if (expire !== null && millisecondsOf(expire) <= clock.now())
    throw new Failure('general_argument_invalid', { message: 'The expiry of a server key must lie in the future.' });
  await unit.one(store.hold(projectId));
  const { count } = (await unit.one(store.countKeys(projectId))) ?? {};
  if (Number(count) >= projectLimits.keys) throw new Failure('key_limit_exceeded');
  const id = random.id();
  const secret = random.secret();
  const row = {
    id,
    projectId,
    name,
    scopes: granted,
    secretDigest: digest(secret),
    expire,
    accessedAt: null,
    createdAt: unit.now,
    updatedAt: unit.now,
  };
  await unit.run(store.insertKey(row));
  unit.record('keyCreated', {
    resource: `keys/${id}`,
    payload: { name, scopes: [...(granted as readonly (Scope | 'all')[])], expire: expire ?? '' },
  });
  return { ...withoutSecret(row), secret: printKey(id, secret) };
}

async function find({ store }: Deps, reader: Reader, idOrName: string, projectId?: string): Promise<ApiKey> {
  const row = await reader.one(store.findKey({ id: idOrName }));
  const byId = row && apiKeys.decode(row);
  if (byId !== undefined && (projectId === undefined || byId.projectId === projectId)) return withoutSecret(byId);
  const rows = projectId === undefined ? [] : await reader.all(store.keys(projectId));
  const named = rows.map((one) => apiKeys.decode(one)).filter(({ name }) => name === idOrName);
  if (named[0] === undefined) throw new Failure('key_not_found');
  if (named.length > 1) {
    const ids = named.map(({ id }) => id).join(', ');
    throw new Failure('general_argument_invalid', { message: `Several keys have this name; give the id: ${ids}.` });
  }
  return withoutSecret(named[0]);
}

async function revoke({ store }: Deps, unit: Unit, id: string): Promise<void> {
  const row = await unit.one(store.findKey({ id }));
  if (row === undefined) throw new Failure('key_not_found');
  await unit.run(store.removeKey(id));
  unit.record('keyRevoked', { resource: `keys/${id}`, payload: { name: apiKeys.decode(row).name } });
}

async function counts({ db, clock, store }: Deps, project: Project, id: string, scope?: Scope): Promise<boolean> {
  const row = await db.one(store.findKey({ id }));
  if (row === undefined) return false;
  const { projectId, expire, scopes: granted } = apiKeys.decode(row);
  const isOver = expire !== null && millisecondsOf(expire) <= clock.now();
  const isGranted = scope === undefined || granted.includes(scope) || granted.includes('all');
  return projectId === project.id && !isOver && isGranted;
}

async function authenticate({ db, clock, store }: Deps, project: Project, text: string): Promise<ServerKey> {
  const parsed = parseKey(text);
  const row = parsed && (await db.one(store.findKey({ id: parsed.id })));
  const key = row && apiKeys.decode(row);
  if (
    parsed === undefined ||
    key === undefined ||
    key.projectId !== project.id ||
    !equalDigests(digest(parsed.secret), key.secretDigest)
  ) {
    throw new Failure('general_unauthorized_scope', { message: 'The server key is not valid for this project.' });
  }
  if (key.expire !== null && millisecondsOf(key.expire) <= clock.now()) throw new Failure('project_key_expired');
  if (key.accessedAt === null || !isRecent(key.accessedAt, clock.now(), accessMs)) {
    await db.note({ projectId: project.id, actor: { kind: 'key', id: key.id }, requestId: '' }, async (unit) => {
      await unit.run(store.touchKey(key.id, unit.now));
    });
  }
  return { kind: 'key', id: key.id, name: key.name, scopes: key.scopes, expire: key.expire };
}

/** Formats a server key: a prefix for secret scanners, the id, 256 random bits and a checksum. */
function printKey(id: string, secret: string): string {
  return `sk_${id}.${secret}${checksum(id + secret)}`;
}

/** Parses a server key. Undefined if the checksum is wrong, so that a mistyped key costs no query. */
function parseKey(text: string): { readonly id: string; readonly secret: string } | undefined {
  const [, id = '', secret = '', check] = /^sk_([0-9a-f]{20})\.([A-Za-z0-9_-]{43})([0-9a-z]{7})$/.exec(text) ?? [];
  return check !== undefined && check === checksum(id + secret) ? { id, secret } : undefined;
}

function checksum(text: string): string {
  return crc32(text).toString(36).padStart(7, '0');
}

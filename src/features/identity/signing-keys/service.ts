import { Failure } from '#src/contract/errors.js';
import { signingKeyLife } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import { kidPattern, type SigningAlgorithm, signingAlgorithms } from '#src/contract/signing-key.js';
import { instantOf, millisecondsOf } from '#src/platform/clock.js';
import { createLoader } from '#src/platform/db/batch.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { JwtKey } from '#src/platform/jwt.js';
import { createMaterial, type Material } from './material.js';
import { currentOf, living, nextOf } from './states.js';
import { type SigningKey, type SigningKeyStore, signingKeys } from './store.js';
import { type SigningKeyStatus, toStatus } from './view.js';

/** How long a running process may verify by its copy of a project's keys, in milliseconds. */
const cacheMs = 500;
const maxCached = 1000;

type Deps = Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'sealing'>;

/** The keys that sign the JWTs of each project. They are made on first need and change their state by the clock. */
export function createSigningKeys(runtime: Deps, store: SigningKeyStore) {
  const { db, sql, clock } = runtime;
  const material = createMaterial(runtime);
  const cache = new Map<string, { readonly keys: readonly SigningKey[]; readonly until: number }>();
  const making = new Map<string, Promise<SigningKey>>();

  const load = async (reader: Reader, ids: readonly string[]): Promise<ReadonlyMap<string, SigningKey[]>> => {
    const byProject = new Map<string, SigningKey[]>();
    for (const row of await reader.all(store.ofProjects({ ids: sql.list(ids) }))) {
      const key = signingKeys.decode(row);
      byProject.set(key.projectId, [...(byProject.get(key.projectId) ?? []), key]);
    }
    return byProject;
  };
  const lookup = createLoader(sql.dialect, (ids) => load(db, ids));
  const within = async (unit: Unit, projectId: string) => (await load(unit, [projectId])).get(projectId) ?? [];
  const latest = async (projectId: string): Promise<readonly SigningKey[]> => {
    const keys = (await lookup(projectId)) ?? [];
    if (cache.size >= maxCached) cache.clear();
    cache.set(projectId, { keys, until: clock.monotonic() + cacheMs });
    return living(keys, clock.now());
  };
  const recent = async (projectId: string): Promise<readonly SigningKey[]> => {
    const cached = cache.get(projectId);
    return cached !== undefined && cached.until > clock.monotonic()
      ? living(cached.keys, clock.now())
      : latest(projectId);
  };

  /** Stores a key as the newest of its algorithm; undefined where another process was quicker. */
  const put = async (
    unit: Unit,
    project: Project,
    made: Material,
    { keys, signsFrom }: { keys: readonly SigningKey[]; signsFrom: string },
  ): Promise<SigningKey | undefined> => {
    const generation = 1 + Math.max(0, ...keys.filter(({ alg }) => alg === made.alg).map((key) => key.generation));
    const times = { signsFrom, signsUntil: null, publishedUntil: null, createdAt: unit.now };
    const key: SigningKey = { ...made, ...times, projectId: project.id, generation };
    return (await unit.one(store.insert(key))) === undefined ? undefined : key;
  };
  const record = (unit: Unit, event: 'signingKeyCreated' | 'signingKeyRevoked', { kid, alg }: Material): void =>
    unit.record(event, { resource: `keys/${kid}`, payload: { alg } });

  /** Stores a key that signs at once, where none does. */
  const begin = async (unit: Unit, project: Project, made: Material): Promise<void> => {
    const keys = await within(unit, project.id);
    if (currentOf(keys, made.alg, millisecondsOf(unit.now)) !== undefined) return;
    const key = await put(unit, project, made, { keys, signsFrom: unit.now });
    if (key !== undefined) record(unit, 'signingKeyCreated', key);
  };
  /** Stores a key that is published now, signs later, and ends the time of the one before it. */
  const succeed = async (unit: Unit, project: Project, made: Material, overlapSeconds: number): Promise<void> => {
    const keys = await within(unit, project.id);
    const now = millisecondsOf(unit.now);
    const current = currentOf(keys, made.alg, now);
    if (current === undefined || nextOf(keys, made.alg, now) !== undefined) return;
    const changeMs = now + signingKeyLife.publishSeconds * 1000;
    const key = await put(unit, project, made, { keys, signsFrom: instantOf(changeMs) });
    if (key === undefined) return;
    await unit.run(store.retire(key, instantOf(changeMs + overlapSeconds * 1000)));
    const payload = { alg: key.alg, previous: current.kid, overlapSeconds };
    unit.record('keysRotated', { resource: `keys/${key.kid}`, payload });
  };

  const first = async (project: Project, alg: SigningAlgorithm): Promise<SigningKey> => {
    const made = await material.make(project, alg);
    const by = { projectId: project.id, actor: { kind: 'service', id: 'signing-keys' }, requestId: '' };
    await db.work(by, (unit) => begin(unit, project, made));
    const key = currentOf(await latest(project.id), alg, clock.now());
    if (key === undefined) throw new Failure('general_unavailable', { retryAfter: 1 });
    return key;
  };
  /** The key that signs; made where the project has none, once for all who ask. */
  const current = async (project: Project, alg: SigningAlgorithm, keys: readonly SigningKey[]): Promise<SigningKey> => {
    const existing = currentOf(keys, alg, clock.now());
    if (existing !== undefined) return existing;
    const name = `${project.id} ${alg}`;
    const made = making.get(name) ?? first(project, alg).finally(() => making.delete(name));
    making.set(name, made);
    return made;
  };

  return {
    /** The key that signs now. It is asked of the database each time: one that was revoked a moment ago must sign no more. */
    signing: async (project: Project, alg: SigningAlgorithm): Promise<JwtKey> => {
      const key = await current(project, alg, await latest(project.id));
      return { kid: key.kid, alg, key: material.secretKey(project, key) };
    },
    /** The key that verifies what its `kid` has signed; one that this process does not know yet is looked for. */
    verifying: async (project: Project, kid: string): Promise<JwtKey | undefined> => {
      const named = (keys: readonly SigningKey[]) => keys.find((key) => key.kid === kid);
      const found = named(await recent(project.id)) ?? named(await latest(project.id));
      if (found === undefined) return undefined;
      const { alg, publicJwk } = found;
      return {
        kid,
        alg,
        key: publicJwk === null ? material.secretKey(project, found) : material.publicKey(kid, publicJwk),
      };
    },
    /** Every key of the project that others may see; there is always one. */
    published: async (project: Project): Promise<readonly SigningKey[]> => {
      const keys = await recent(project.id);
      const key = await current(project, 'RS256', keys);
      return keys.includes(key) ? keys : latest(project.id);
    },
    /** Gives keys successors, and an algorithm without a key its first; where a successor waits already, nothing changes. */
    rotate: async (
      by: AuditContext,
      project: Project,
      algorithms: readonly SigningAlgorithm[] = signingAlgorithms,
      overlapSeconds: number = signingKeyLife.overlapSeconds,
    ): Promise<void> => {
      for (const alg of algorithms) {
        const keys = await latest(project.id);
        if (nextOf(keys, alg, clock.now()) !== undefined) continue;
        const made = await material.make(project, alg);
        const isFirst = currentOf(keys, alg, clock.now()) === undefined;
        await db.work(by, (unit) =>
          isFirst ? begin(unit, project, made) : succeed(unit, project, made, overlapSeconds),
        );
      }
      cache.delete(project.id);
    },
    /** Ends a key at once: what it signed is worth nothing any more. Its successor signs from now on. Throws Failure `signing_key_not_found`. */
    revoke: async (by: AuditContext, project: Project, kid: string): Promise<void> => {
      const before = await latest(project.id);
      const revoked = before.find((key) => key.kid === kid);
      if (revoked === undefined) throw new Failure('signing_key_not_found');
      const { alg } = revoked;
      const isLast = !before.some((key) => key.kid !== kid && key.alg === alg && key.signsUntil === null);
      const made = isLast ? await material.make(project, alg) : undefined;
      await db.work(by, async (unit) => {
        if ((await unit.run(store.remove(kid))) === 0) throw new Failure('signing_key_not_found');
        record(unit, 'signingKeyRevoked', revoked);
        const now = millisecondsOf(unit.now);
        if (millisecondsOf(revoked.signsFrom) > now) await unit.run(store.keep(revoked));
        const left = currentOf(await within(unit, project.id), alg, now);
        if (left !== undefined && millisecondsOf(left.signsFrom) > now)
          await unit.run(store.startNow(left.kid, unit.now));
        if (left === undefined && made !== undefined) await begin(unit, project, made);
      });
      cache.delete(project.id);
    },
    /** The project of a key. Throws Failure `signing_key_not_found`. */
    projectOf: async (reader: Reader, kid: string): Promise<string> => {
      const row = kidPattern.test(kid) ? await reader.one(store.find(kid)) : undefined;
      if (row === undefined) throw new Failure('signing_key_not_found');
      return signingKeys.decode(row).projectId;
    },
    /** Every key of a project with its state. */
    status: async (project: Project): Promise<SigningKeyStatus[]> => toStatus(await latest(project.id), clock.now()),
  };
}

/** The service of signing keys. */
export type SigningKeys = ReturnType<typeof createSigningKeys>;

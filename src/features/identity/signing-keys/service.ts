import { Failure } from '#src/contract/errors.js';
import { signingKeyLife } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import { kidPattern, type SigningAlgorithm, signingAlgorithms } from '#src/contract/signing-key.js';
import type { JwtKey } from '#src/platform/crypto/jwt.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import { createSingleFlight, type SingleFlight } from '#src/platform/runtime/single-flight.js';
import { beginKey, revokeKey, succeedKey } from './changes.js';
import { createMaterial, type KeyMaterial } from './material.js';
import { createKeyReads, type KeyReads } from './reads.js';
import { currentOf, nextOf } from './states.js';
import { type SigningKey, type SigningKeyStore, signingKeys } from './store.js';
import { type SigningKeyStatus, toStatus } from './view.js';

const dayMs = 86_400_000;

/** The keys that sign JWTs of each project. They are created when first needed, and their state depends on the time. */
export interface SigningKeys {
  /**
   * The key that signs now. Read from the database each time, because a revoked key must not sign. Throws Failure `general_unavailable` if
   * it cannot be decrypted.
   */
  signing(project: Project, alg: SigningAlgorithm): Promise<JwtKey>;
  /**
   * The key that verifies tokens with this `kid`. Reads the database if this process does not know it yet. Undefined if there is none or it
   * cannot be decrypted.
   */
  verifying(project: Project, kid: string): Promise<JwtKey | undefined>;
  /** The unexpired keys of a project, including at least one for RS256, which is created if missing. */
  published(project: Project): Promise<readonly SigningKey[]>;
  /** Creates successors of keys, and the first key of algorithms without one. Does nothing if a successor is already waiting. */
  rotate(
    by: AuditContext,
    project: Project,
    algorithms?: readonly SigningAlgorithm[],
    overlapSeconds?: number,
  ): Promise<void>;
  /**
   * Ends a key immediately: tokens signed with it are no longer accepted, and its successor signs from now on. Throws Failure
   * `signing_key_not_found`.
   */
  revoke(by: AuditContext, project: Project, kid: string): Promise<void>;
  /** The project of a key. Throws Failure `signing_key_not_found`. */
  projectOf(reader: Reader, kid: string): Promise<string>;
  /** Keys of all projects that have signed a day longer than intended and have no successor. */
  overdue(): Promise<Pick<SigningKey, 'projectId' | 'alg' | 'kid' | 'signsFrom'>[]>;
  /** All unexpired keys of a project with their states. */
  status(project: Project): Promise<SigningKeyStatus[]>;
}

interface Deps extends Pick<Runtime, 'db' | 'clock'> {
  readonly store: SigningKeyStore;
  readonly material: KeyMaterial;
  readonly reads: KeyReads;
  /** Creates the first key of a project and algorithm once for all concurrent callers. */
  readonly makeOnce: SingleFlight<SigningKey>;
}

/** Creates the signing keys service. */
export function createSigningKeys(
  runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'sealing'>,
  store: SigningKeyStore,
): SigningKeys {
  const { db, clock } = runtime;
  const reads = createKeyReads(runtime, store);
  const material = createMaterial(runtime);
  const deps: Deps = { db, clock, store, reads, material, makeOnce: createSingleFlight() };
  return {
    ...bind(deps, { signing, verifying, published, rotate, revoke, projectOf }),
    overdue: async () => {
      const since = instantOf(clock.now() - (signingKeyLife.days + 1) * dayMs);
      return (await db.all(store.old(since))).map((row) => signingKeys.decode(row));
    },
    status: async (project) => toStatus(await reads.latest(project.id), clock.now()),
  };
}

async function signing(deps: Deps, project: Project, alg: SigningAlgorithm): Promise<JwtKey> {
  const { kid, ...rest } = await current(deps, project, alg, await deps.reads.latest(project.id));
  const key = deps.material.secretKey(project, { kid, ...rest });
  if (key === undefined) throw new Failure('general_unavailable', { retryAfter: 60 });
  return { kid, alg, key };
}

/** The key that signs. Created if the project has none. */
async function current(deps: Deps, project: Project, alg: SigningAlgorithm, keys: readonly SigningKey[]) {
  const existing = currentOf(keys, alg, deps.clock.now());
  return existing ?? deps.makeOnce(() => first(deps, project, alg), `${project.id} ${alg}`);
}

async function first(deps: Deps, project: Project, alg: SigningAlgorithm) {
  const { db, clock, reads, material } = deps;
  const made = await material.make(project, alg);
  const by = { projectId: project.id, actor: { kind: 'service', id: 'signing-keys' }, requestId: '' };
  await db.work(by, (unit) => beginKey(deps, unit, project, made));
  const key = currentOf(await reads.latest(project.id), alg, clock.now());
  if (key === undefined) throw new Failure('general_unavailable', { retryAfter: 1 });
  return key;
}

async function verifying({ reads, material }: Deps, project: Project, kid: string): Promise<JwtKey | undefined> {
  const named = (keys: readonly SigningKey[]) => keys.find((key) => key.kid === kid);
  const found = named(await reads.recent(project.id)) ?? named(await reads.latest(project.id));
  if (found === undefined) return undefined;
  const { alg, publicJwk } = found;
  const key = publicJwk === null ? material.secretKey(project, found) : material.publicKey(kid, publicJwk);
  return key && { kid, alg, key };
}

async function published(deps: Deps, project: Project): Promise<readonly SigningKey[]> {
  const keys = await deps.reads.recent(project.id);
  const key = await current(deps, project, 'RS256', keys);
  return keys.includes(key) ? keys : deps.reads.latest(project.id);
}

async function rotate(
  deps: Deps,
  by: AuditContext,
  project: Project,
  algorithms: readonly SigningAlgorithm[] = signingAlgorithms,
  overlapSeconds: number = signingKeyLife.overlapSeconds,
): Promise<void> {
  const { db, clock, reads, material } = deps;
  for (const alg of algorithms) {
    const keys = await reads.latest(project.id);
    if (nextOf(keys, alg, clock.now()) !== undefined) continue;
    const made = await material.make(project, alg);
    const isFirst = currentOf(keys, alg, clock.now()) === undefined;
    await db.work(by, (unit) =>
      isFirst ? beginKey(deps, unit, project, made) : succeedKey(deps, unit, project, made, overlapSeconds),
    );
  }
  reads.forget(project.id);
}

async function revoke(deps: Deps, by: AuditContext, project: Project, kid: string): Promise<void> {
  const { db, reads, material } = deps;
  const before = await reads.latest(project.id);
  const key = before.find((one) => one.kid === kid);
  if (key === undefined) throw new Failure('signing_key_not_found');
  const isLast = !before.some((one) => one.kid !== kid && one.alg === key.alg && one.signsUntil === null);
  const made = isLast ? await material.make(project, key.alg) : undefined;
  await db.work(by, (unit) => revokeKey(deps, unit, project, key, made));
  reads.forget(project.id);
}

async function projectOf({ store }: Deps, reader: Reader, kid: string): Promise<string> {
  const row = kidPattern.test(kid) ? await reader.one(store.find(kid)) : undefined;
  if (row === undefined) throw new Failure('signing_key_not_found');
  return signingKeys.decode(row).projectId;
}

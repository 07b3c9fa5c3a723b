import { Failure } from '#src/contract/errors.js';
import { signingKeyLife } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import { kidPattern, type SigningAlgorithm, signingAlgorithms } from '#src/contract/signing-key.js';
import { instantOf } from '#src/platform/clock.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { JwtKey } from '#src/platform/jwt.js';
import { createKeyChanges } from './keys/changes.js';
import { createMaterial } from './keys/material.js';
import { createKeyReads } from './keys/reads.js';
import { currentOf, nextOf } from './keys/states.js';
import { type SigningKey, type SigningKeyStore, signingKeys } from './store.js';
import { type SigningKeyStatus, toStatus } from './view.js';

const dayMs = 86_400_000;

/** The keys that sign the JWTs of each project. They are made on first need and change their state by the clock. */
export interface SigningKeys {
  /** The key that signs now. It is read from the database each time: a revoked one must sign no more. Throws Failure `general_unavailable` where it cannot be opened. */
  signing(project: Project, alg: SigningAlgorithm): Promise<JwtKey>;
  /** The key that verifies what its `kid` has signed; one that this process does not know yet is looked for. Undefined where there is none that opens. */
  verifying(project: Project, kid: string): Promise<JwtKey | undefined>;
  /** Every key of the project that others may see; there is always one. */
  published(project: Project): Promise<readonly SigningKey[]>;
  /** Gives keys successors, and an algorithm without a key its first; where a successor waits already, nothing changes. */
  rotate(
    by: AuditContext,
    project: Project,
    algorithms?: readonly SigningAlgorithm[],
    overlapSeconds?: number,
  ): Promise<void>;
  /** Ends a key at once: no token that it signed is accepted. Its successor signs from now on. Throws Failure `signing_key_not_found`. */
  revoke(by: AuditContext, project: Project, kid: string): Promise<void>;
  /** The project of a key. Throws Failure `signing_key_not_found`. */
  projectOf(reader: Reader, kid: string): Promise<string>;
  /** Keys of all projects that have signed for a day longer than they should, and have no successor. */
  overdue(): Promise<Pick<SigningKey, 'projectId' | 'alg' | 'kid' | 'signsFrom'>[]>;
  /** Every key of a project with its state. */
  status(project: Project): Promise<SigningKeyStatus[]>;
}

/** Creates the service of signing keys. */
export function createSigningKeys(
  runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'sealing'>,
  store: SigningKeyStore,
): SigningKeys {
  const { db, clock } = runtime;
  const material = createMaterial(runtime);
  const reads = createKeyReads(runtime, store);
  const changes = createKeyChanges(store, reads);
  const { latest, recent } = reads;
  const making = new Map<string, Promise<SigningKey>>();

  const first = async (project: Project, alg: SigningAlgorithm): Promise<SigningKey> => {
    const made = await material.make(project, alg);
    const by = { projectId: project.id, actor: { kind: 'service', id: 'signing-keys' }, requestId: '' };
    await db.work(by, (unit) => changes.begin(unit, project, made));
    const key = currentOf(await latest(project.id), alg, clock.now());
    if (key === undefined) throw new Failure('general_unavailable', { retryAfter: 1 });
    return key;
  };
  /** The key that signs; made where the project has none, once for all callers. */
  const current = async (project: Project, alg: SigningAlgorithm, keys: readonly SigningKey[]): Promise<SigningKey> => {
    const existing = currentOf(keys, alg, clock.now());
    if (existing !== undefined) return existing;
    const name = `${project.id} ${alg}`;
    const made = making.get(name) ?? first(project, alg).finally(() => making.delete(name));
    making.set(name, made);
    return made;
  };

  return {
    signing: async (project, alg) => {
      const { kid, ...rest } = await current(project, alg, await latest(project.id));
      const key = material.secretKey(project, { kid, ...rest });
      if (key === undefined) throw new Failure('general_unavailable', { retryAfter: 60 });
      return { kid, alg, key };
    },
    verifying: async (project, kid) => {
      const named = (keys: readonly SigningKey[]) => keys.find((key) => key.kid === kid);
      const found = named(await recent(project.id)) ?? named(await latest(project.id));
      if (found === undefined) return undefined;
      const { alg, publicJwk } = found;
      const key = publicJwk === null ? material.secretKey(project, found) : material.publicKey(kid, publicJwk);
      return key && { kid, alg, key };
    },
    published: async (project) => {
      const keys = await recent(project.id);
      const key = await current(project, 'RS256', keys);
      return keys.includes(key) ? keys : latest(project.id);
    },
    rotate: async (by, project, algorithms = signingAlgorithms, overlapSeconds = signingKeyLife.overlapSeconds) => {
      for (const alg of algorithms) {
        const keys = await latest(project.id);
        if (nextOf(keys, alg, clock.now()) !== undefined) continue;
        const made = await material.make(project, alg);
        const isFirst = currentOf(keys, alg, clock.now()) === undefined;
        await db.work(by, (unit) =>
          isFirst ? changes.begin(unit, project, made) : changes.succeed(unit, project, made, overlapSeconds),
        );
      }
      reads.forget(project.id);
    },
    revoke: async (by, project, kid) => {
      const before = await latest(project.id);
      const key = before.find((one) => one.kid === kid);
      if (key === undefined) throw new Failure('signing_key_not_found');
      const isLast = !before.some((one) => one.kid !== kid && one.alg === key.alg && one.signsUntil === null);
      const made = isLast ? await material.make(project, key.alg) : undefined;
      await db.work(by, (unit) => changes.revoke(unit, project, key, made));
      reads.forget(project.id);
    },
    projectOf: async (reader, kid) => {
      const row = kidPattern.test(kid) ? await reader.one(store.find(kid)) : undefined;
      if (row === undefined) throw new Failure('signing_key_not_found');
      return signingKeys.decode(row).projectId;
    },
    overdue: async () => {
      const since = instantOf(clock.now() - (signingKeyLife.days + 1) * dayMs);
      return (await db.all(store.old(since))).map((row) => signingKeys.decode(row));
    },
    status: async (project) => toStatus(await latest(project.id), clock.now()),
  };
}

import { Failure } from '#src/contract/errors.js';
import { signingKeyLife } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { Unit } from '#src/platform/db/unit.js';
import { instantOf, millisecondsOf } from '#src/platform/runtime/clock.js';
import type { Material } from './material.js';
import type { KeyReads } from './reads.js';
import { currentOf, nextOf } from './states.js';
import type { SigningKey, SigningKeyStore } from './store.js';

interface Deps {
  readonly store: SigningKeyStore;
  readonly reads: KeyReads;
}

/** Stores a key that signs immediately, if no key signs yet. */
export async function beginKey(deps: Deps, unit: Unit, project: Project, made: Material): Promise<void> {
  const keys = await deps.reads.within(unit, project.id);
  if (currentOf(keys, made.alg, millisecondsOf(unit.now)) !== undefined) return;
  const key = await put(deps, unit, project, made, { keys, signsFrom: unit.now });
  if (key !== undefined) record(unit, 'signingKeyCreated', key);
}

/** Stores a key as the newest of its algorithm; undefined if another process was faster. */
async function put(
  { store }: Deps,
  unit: Unit,
  project: Project,
  made: Material,
  { keys, signsFrom }: { keys: readonly SigningKey[]; signsFrom: string },
): Promise<SigningKey | undefined> {
  const generation = 1 + Math.max(0, ...keys.filter(({ alg }) => alg === made.alg).map((key) => key.generation));
  const times = { signsFrom, signsUntil: null, publishedUntil: null, createdAt: unit.now };
  const key: SigningKey = { ...made, ...times, projectId: project.id, generation };
  return (await unit.one(store.insert(key))) === undefined ? undefined : key;
}

function record(unit: Unit, event: 'signingKeyCreated' | 'signingKeyRevoked', { kid, alg }: Material): void {
  unit.record(event, { resource: `keys/${kid}`, payload: { alg } });
}

/** Stores a key that is published now and signs later, and sets the end of its predecessor. */
export async function succeedKey(deps: Deps, unit: Unit, project: Project, made: Material, overlapSeconds: number) {
  const { store, reads } = deps;
  const keys = await reads.within(unit, project.id);
  const now = millisecondsOf(unit.now);
  const current = currentOf(keys, made.alg, now);
  if (current === undefined || nextOf(keys, made.alg, now) !== undefined) return;
  const changeMs = now + signingKeyLife.publishSeconds * 1000;
  const key = await put(deps, unit, project, made, { keys, signsFrom: instantOf(changeMs) });
  if (key === undefined) return;
  await unit.run(store.retire(key, instantOf(changeMs + overlapSeconds * 1000)));
  const payload = { alg: key.alg, previous: current.kid, overlapSeconds };
  unit.record('keysRotated', { resource: `keys/${key.kid}`, payload });
}

/** Removes a key. Its successor signs from now on, or `made` if there is none. Throws Failure `signing_key_not_found`. */
export async function revokeKey(deps: Deps, unit: Unit, project: Project, key: SigningKey, made: Material | undefined) {
  const { store, reads } = deps;
  if ((await unit.run(store.remove(key.kid))) === 0) throw new Failure('signing_key_not_found');
  record(unit, 'signingKeyRevoked', key);
  const now = millisecondsOf(unit.now);
  if (millisecondsOf(key.signsFrom) > now) await unit.run(store.keep(key));
  const left = currentOf(await reads.within(unit, project.id), key.alg, now);
  if (left !== undefined && millisecondsOf(left.signsFrom) > now) await unit.run(store.startNow(left.kid, unit.now));
  if (left === undefined && made !== undefined) await beginKey(deps, unit, project, made);
}

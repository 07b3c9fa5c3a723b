import { createLoader } from '#src/platform/db/batch.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { living } from './states.js';
import { type SigningKey, type SigningKeyStore, signingKeys } from './store.js';

/** Maximum age of a process's cached keys of a project, in milliseconds. */
const cacheMs = 500;
const maxCached = 1000;

/** Reads the keys of projects. */
export interface KeyReads {
  /** All keys, within a unit of work. */
  within(unit: Unit, projectId: string): Promise<readonly SigningKey[]>;
  /** Unexpired keys, from the database. */
  latest(projectId: string): Promise<readonly SigningKey[]>;
  /** Unexpired keys, at most half a second old. */
  recent(projectId: string): Promise<readonly SigningKey[]>;
  /** Makes the next `recent` call read the database. */
  forget(projectId: string): void;
}

/** Reads the keys of projects, and caches them for half a second. */
export function createKeyReads(
  { db, sql, clock }: Pick<Runtime, 'db' | 'sql' | 'clock'>,
  store: SigningKeyStore,
): KeyReads {
  const cache = new Map<string, { readonly keys: readonly SigningKey[]; readonly until: number }>();
  const load = async (reader: Reader, ids: readonly string[]): Promise<ReadonlyMap<string, SigningKey[]>> => {
    const byProject = new Map<string, SigningKey[]>();
    for (const row of await reader.all(store.ofProjects(ids))) {
      const key = signingKeys.decode(row);
      byProject.set(key.projectId, [...(byProject.get(key.projectId) ?? []), key]);
    }
    return byProject;
  };
  const lookup = createLoader(sql.dialect, (ids) => load(db, ids));
  const latest = async (projectId: string): Promise<readonly SigningKey[]> => {
    const keys = (await lookup(projectId)) ?? [];
    if (cache.size >= maxCached) cache.clear();
    cache.set(projectId, { keys, until: clock.monotonic() + cacheMs });
    return living(keys, clock.now());
  };
  return {
    within: async (unit, projectId) => (await load(unit, [projectId])).get(projectId) ?? [],
    latest,
    recent: async (projectId) => {
      const cached = cache.get(projectId);
      return cached !== undefined && cached.until > clock.monotonic()
        ? living(cached.keys, clock.now())
        : latest(projectId);
    },
    forget: (projectId) => {
      cache.delete(projectId);
    },
  };
}

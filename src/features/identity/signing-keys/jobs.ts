import { signingKeyLife } from '#src/contract/limits.js';
import type { SigningAlgorithm } from '#src/contract/signing-key.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job, Settle } from '#src/platform/jobs/scheduler.js';
import { instantOf, latestPast, millisecondsOf } from '#src/platform/runtime/clock.js';
import type { Projects } from '../../installation/index.js';
import type { SigningKeys } from './service.js';
import { settled } from './states.js';
import { type SigningKeyStore, signingKeys } from './store.js';

const dayMs = 86_400_000;

type Deps = Pick<Runtime, 'db' | 'clock' | 'random' | 'metrics'>;

/** Corrects the times of keys rotated before the clock was set back. Otherwise nothing would rotate until the clock has caught up. */
export function createKeySettling(
  { db, clock, random }: Pick<Deps, 'db' | 'clock' | 'random'>,
  store: SigningKeyStore,
): Settle {
  const by = () => ({ projectId: null, actor: { kind: 'job', id: 'clock.settle' }, requestId: random.id() });
  return async () => {
    const latest = instantOf(latestPast(clock.now()) + signingKeyLife.publishSeconds * 1000);
    if ((await db.one(store.ahead(latest))) === undefined) return;
    await db.work(by(), async (unit) => {
      for (const key of (await unit.all(store.ahead(latest))).map((row) => signingKeys.decode(row))) {
        const times = settled(key, millisecondsOf(unit.now));
        if (times !== undefined) await unit.run(store.update(key.kid, times));
      }
    });
  };
}

/** Age of the keys that sign JWTs: the oldest of each algorithm over all projects. */
export function createKeyAge(metrics: Runtime['metrics']) {
  return metrics.gauge({
    name: 'svc_signing_key_age_seconds',
    help: 'Age of the oldest key that signs JWTs',
    labelNames: ['alg'],
  });
}

/** Publishes successors of keys in time and removes expired keys. A metric shows the age of the keys. */
export function createRotation(
  { db, clock, random, metrics }: Deps,
  store: SigningKeyStore,
  { projects, keys }: { readonly projects: Projects; readonly keys: SigningKeys },
): Job {
  const by = (projectId: string | null) => ({
    projectId,
    actor: { kind: 'job', id: 'keys.rotate' },
    requestId: random.id(),
  });
  /** Algorithms to rotate by project: their key's signing time ends by the time a successor created now has been published long enough. */
  const due = async (): Promise<Map<string, SigningAlgorithm[]>> => {
    const ageMs = signingKeyLife.days * dayMs - signingKeyLife.publishSeconds * 1000;
    const byProject = new Map<string, SigningAlgorithm[]>();
    for (const row of await db.all(store.old(instantOf(clock.now() - ageMs)))) {
      const { projectId, alg } = signingKeys.decode(row);
      byProject.set(projectId, [...(byProject.get(projectId) ?? []), alg]);
    }
    return byProject;
  };
  const age = createKeyAge(metrics);
  const measure = async (): Promise<void> => {
    const rows = await db.all(store.oldest(instantOf(clock.now()))).catch(() => []);
    age.reset();
    for (const { alg, since } of rows)
      age.set({ alg: String(alg) }, (clock.now() - millisecondsOf(String(since))) / 1000);
  };
  metrics.beforeRender(measure);
  return {
    name: 'keys.rotate',
    schedule: '0 25 * * * *',
    summary: `Publishes the successors of keys that have signed for ${signingKeyLife.days} days, and removes keys whose last token has expired`,
    lease: 'database',
    run: async (signal) => {
      for (const [projectId, algorithms] of await due()) {
        signal.throwIfAborted();
        await keys.rotate(by(projectId), await projects.get(db, projectId), algorithms);
      }
      await db.work(by(null), (unit) => unit.run(store.prune(unit.now)));
    },
  };
}

import { signingKeyLife } from '#src/contract/limits.js';
import type { SigningAlgorithm } from '#src/contract/signing-key.js';
import { instantOf, millisecondsOf } from '#src/platform/clock.js';
import type { Platform } from '#src/platform/index.js';
import type { Job } from '#src/platform/scheduler.js';
import type { Projects } from '../projects/index.js';
import type { SigningKeys } from './service.js';
import { type SigningKeyStore, signingKeys } from './store.js';

const dayMs = 86_400_000;

type Parts = Pick<Platform, 'db' | 'clock' | 'random' | 'metrics'>;

/** Gives keys their successors in time, and removes those whose time is over; the measurements tell how old keys are. */
export function createRotation(
  { db, clock, random, metrics }: Parts,
  store: SigningKeyStore,
  { projects, keys }: { readonly projects: Projects; readonly keys: SigningKeys },
): Job {
  const by = (projectId: string | null) => ({
    ...{ projectId, actor: { kind: 'job', id: 'keys.rotate' }, requestId: random.id() },
  });
  /** Those of a project that will have signed for their time when a successor has been published for long enough. */
  const due = async (): Promise<Map<string, SigningAlgorithm[]>> => {
    const ageMs = signingKeyLife.days * dayMs - signingKeyLife.publishSeconds * 1000;
    const byProject = new Map<string, SigningAlgorithm[]>();
    for (const row of await db.all(store.old(instantOf(clock.now() - ageMs)))) {
      const { projectId, alg } = signingKeys.decode(row);
      byProject.set(projectId, [...(byProject.get(projectId) ?? []), alg]);
    }
    return byProject;
  };
  const measure = async (): Promise<void> => {
    const rows = await db.all(store.oldest(instantOf(clock.now()))).catch(() => []);
    metrics.signingKeys(
      rows.map(({ alg, since }) => ({
        alg: String(alg),
        ageSeconds: (clock.now() - millisecondsOf(String(since))) / 1000,
      })),
    );
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

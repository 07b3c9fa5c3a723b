import { jobLimits } from '#src/contract/limits.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import type { Projects } from '../../installation/index.js';
import { sessionRecord } from './records.js';
import { createSessionStore, type Overdue, sessions } from './store.js';

const dayMs = 86_400_000;

type Deps = Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'config'>;

/** Deletes expired sessions. They are refused as soon as they expire; the event follows within a minute. */
export function createExpiry({ db, sql, clock, random, config }: Deps, projects: Projects): Job {
  const store = createSessionStore(sql);

  /** Idle limits in force, in days, with the projects that use them. */
  const idleLimits = async (): Promise<Map<number, string[]>> => {
    const byDays = new Map<number, string[]>();
    for (const { id, settings } of await projects.settingsOfAll(db)) {
      const days = settings['session.idleDays'] ?? config.sessionIdleDays ?? null;
      if (days !== null) byDays.set(days, [...(byDays.get(days) ?? []), id]);
    }
    return byDays;
  };
  /**
   * Deletes some sessions of a project, except those extended concurrently. Sessions ended by a block were announced at that time, and
   * pending ones never.
   */
  const removeSome = (projectId: string, ids: readonly string[], overdue: Overdue): Promise<number> => {
    const by = { projectId, actor: { kind: 'job', id: 'sessions.expire' }, requestId: random.id() };
    return db.work(by, async (unit) => {
      const removed = (await unit.all(store.removeOverdue(projectId, ids, overdue))).map((row) => sessions.decode(row));
      const announced = removed.filter(({ endedAt, pending }) => endedAt === null && !pending);
      for (const session of announced) unit.record('sessionDeleted', sessionRecord(session));
      return removed.length;
    });
  };
  const removeAll = async (overdue: Overdue, signal: AbortSignal): Promise<void> => {
    for (let more = true; more; ) {
      const found = (await db.all(store.overdue(overdue, jobLimits.batch))).map((row) => sessions.decode(row));
      let removed = 0;
      for (const [projectId, ids] of idsByProject(found)) {
        signal.throwIfAborted();
        removed += await removeSome(projectId, ids, overdue);
      }
      more = found.length === jobLimits.batch && removed > 0;
    }
  };

  return {
    name: 'sessions.expire',
    schedule: '0 * * * * *',
    summary: 'Deletes sessions that have expired or were idle for too long',
    lease: 'database',
    run: async (signal) => {
      const now = clock.now();
      await removeAll({ column: 'expire', until: instantOf(now) }, signal);
      for (const [days, projectIds] of await idleLimits())
        await removeAll({ column: 'accessed_at', until: instantOf(now - days * dayMs), projectIds }, signal);
    },
  };
}

function idsByProject(found: readonly { readonly projectId: string; readonly id: string }[]): Map<string, string[]> {
  const byProject = new Map<string, string[]>();
  for (const { projectId, id } of found) byProject.set(projectId, [...(byProject.get(projectId) ?? []), id]);
  return byProject;
}

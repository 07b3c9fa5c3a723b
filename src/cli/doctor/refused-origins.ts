import type { Appliance } from '#src/appliance.js';
import { auditLimits } from '#src/contract/limits.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import { type DoctorFinding, found } from './finding.js';

const dayMs = 86_400_000;

/** Finds web origins that were refused within the last day and are still refused; at most `most`. */
export async function refusedOrigins({ runtime, features }: Appliance, most: number): Promise<DoctorFinding[]> {
  const { db, clock } = runtime;
  const { audit, projects } = features;
  const since = instantOf(clock.now() - dayMs);
  const { entries } = await audit.list({ action: 'requestsRefused', since }, { limit: auditLimits.page });
  const existing = new Map((await projects.list(db)).map((project) => [project.id, project]));
  const isRefused = async (origin: string, projectId: string | null): Promise<boolean> => {
    if (projectId === null) return !(await projects.anyAllowsOrigin(db, origin));
    const project = existing.get(projectId);
    return project !== undefined && !projects.allowsOrigin(project, origin);
  };
  const findings = new Map<string, DoctorFinding>();
  for (const { row } of entries) {
    const { projectId, at, data } = row;
    const { origin }: { readonly origin?: string } = JSON.parse(data);
    if (origin === undefined || findings.has(`${projectId} ${origin}`)) continue;
    if (findings.size === most) break;
    if (!(await isRefused(origin, projectId))) continue;
    const place = projectId === null ? 'every project' : `the project ${projectId}`;
    const message = `The origin ${origin} is refused by ${place}, the last time at ${at}.`;
    findings.set(`${projectId} ${origin}`, found('origin_refused', message, projects.adviceFor(origin, projectId)));
  }
  return [...findings.values()];
}

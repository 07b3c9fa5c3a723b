import { createHmac } from 'node:crypto';
import type { Project } from '#src/contract/project.js';
import { millisecondsOf } from '#src/platform/clock.js';
import type { Platform } from '#src/platform/index.js';

/** How long after its project a user who does not exist seems to have signed up, at most. */
const spanMicros = 3_600_000_000n;

/** Makes the ids that stand in answers about addresses that nobody has. */
export function createDecoys({ sealing }: Pick<Platform, 'sealing'>) {
  const key = sealing.derive('enumeration');
  /** The same for the same address each time, and in the form of an id of ours: 13 hex characters of time, 7 of chance. */
  return (project: Project, email: string): string => {
    const hash = createHmac('sha256', key).update(`${project.id}\n${email}`).digest();
    const time = BigInt(millisecondsOf(project.createdAt)) * 1000n + (hash.readBigUInt64BE(0) % spanMicros);
    return time.toString(16).padStart(13, '0').slice(-13) + hash.toString('hex', 8, 12).slice(0, 7);
  };
}

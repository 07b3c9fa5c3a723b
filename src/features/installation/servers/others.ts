import type { Claim } from '#src/platform/admission/shared-limiter.js';
import type { ServerRow } from './store.js';

/** Reads of an unchanged row after which its server counts as ended. Clocks of other machines are not compared. */
const unchangedReads = 10;

interface Known {
  readonly seenAt: string;
  reads: number;
}

/** The other servers of the database, by their rows. A server that was killed leaves its row, which changes no more. */
export class OtherServers {
  #known = new Map<string, Known>();
  #some = false;

  /** True if others were running at the last read. */
  get some(): boolean {
    return this.#some;
  }

  /** The claims of each server that is running. */
  running(rows: readonly ServerRow[]): (readonly Claim[])[] {
    const before = this.#known;
    this.#known = new Map();
    const running = rows.filter(({ id, seenAt }) => {
      const known = before.get(id);
      const reads = known?.seenAt === seenAt ? known.reads + 1 : 0;
      this.#known.set(id, { seenAt, reads });
      return reads < unchangedReads;
    });
    this.#some = running.length > 0;
    return running.map(({ claims }) => claims ?? []);
  }
}

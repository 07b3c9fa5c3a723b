import type { Project } from '#src/contract/project.js';
import { type BoundColumn, isSealed } from '#src/platform/crypto/sealing.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Projects } from '../../../installation/index.js';

/** The column of payloads. Payloads of collections with encrypted attributes are sealed, each for its event; others are JSON. */
export const sealedPayloads: BoundColumn = { table: 'events', column: 'data' };

interface StoredPayload {
  readonly id: string;
  readonly data: string;
}

/** Opens payloads of events of a project. One that cannot be opened is logged, and undefined. */
export interface Payloads {
  open(project: Pick<Project, 'id' | 'dataKey'>, event: StoredPayload): string | undefined;
  /** Opens several, in their order; reads the project if one is sealed. */
  openAll(reader: Reader, projectId: string, events: readonly StoredPayload[]): Promise<(string | undefined)[]>;
}

/** Creates the reader of stored payloads. */
export function createPayloads({ sealing }: Pick<Runtime, 'sealing'>, projects: Pick<Projects, 'get'>): Payloads {
  const open: Payloads['open'] = (project, { id, data }) =>
    isSealed(data) ? sealing.tryOpen(project.id, project.dataKey, { column: sealedPayloads, row: id }, data) : data;
  return {
    open,
    openAll: async (reader, projectId, events) => {
      if (!events.some(({ data }) => isSealed(data))) return events.map(({ data }) => data);
      const project = await projects.get(reader, projectId);
      return events.map((event) => open(project, event));
    },
  };
}

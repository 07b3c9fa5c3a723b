import { type Instant, toWireInstant } from '#src/contract/shapes.js';

/** An event with its number and what it carries, as JSON. */
interface NumberedEvent {
  readonly id: string;
  readonly type: string;
  readonly createdAt: Instant;
  readonly sequence: number;
  readonly data: string;
}

/** An event as deliveries and streams carry it. Its data stand in it as the text that they are, so that each delivery of it has the same bytes. */
export function toEnvelope(projectId: string, { id, type, createdAt, sequence, data }: NumberedEvent): string {
  const head = JSON.stringify({ id, type, timestamp: toWireInstant(createdAt), sequence, projectId });
  return `${head.slice(0, -1)},"data":${data}}`;
}

import { type Instant, toWireInstant } from '#src/contract/shapes.js';

/** A numbered event with its payload as JSON. */
interface NumberedEvent {
  readonly id: string;
  readonly type: string;
  readonly createdAt: Instant;
  readonly sequence: number;
  readonly data: string;
}

/**
 * Formats an event for deliveries and streams. Inserts the payload as stored text, so that all deliveries of an event have the same bytes.
 */
export function toEnvelope(projectId: string, { id, type, createdAt, sequence, data }: NumberedEvent): string {
  const head = JSON.stringify({ id, type, timestamp: toWireInstant(createdAt), sequence, projectId });
  return `${head.slice(0, -1)},"data":${data}}`;
}

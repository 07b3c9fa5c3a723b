import type { LogEntry, LogFields } from '#src/platform/runtime/log-line.js';

/** A line of the log, and its entry if it is JSON. */
export interface LogLine {
  readonly text: string;
  readonly entry: LogEntry | undefined;
}

/** The entries to show. */
export interface LogSelection {
  /** Classes such as `4` for 4xx, and whole codes. Selects requests only. */
  readonly statuses: readonly string[];
  readonly projectId: string | undefined;
  /** ISO 8601 in UTC. */
  readonly since: string | undefined;
}

/** Parses a line of the log. A line that is not JSON, such as one of the pretty format, has no entry. */
export function parseLogLine(text: string): LogLine {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return { text, entry: undefined };
    const { time, level, event, ...fields } = value as Record<string, unknown>;
    if (typeof time !== 'string' || typeof level !== 'string' || typeof event !== 'string')
      return { text, entry: undefined };
    return { text, entry: { time, level, event, fields: fields as LogFields } };
  } catch {
    return { text, entry: undefined };
  }
}

/** True if a selection has no condition. Only then are lines without an entry shown. */
export function isEverything({ statuses, projectId, since }: LogSelection): boolean {
  return statuses.length === 0 && projectId === undefined && since === undefined;
}

/** True if the line is selected. */
export function isSelected({ entry }: LogLine, selection: LogSelection): boolean {
  if (entry === undefined) return isEverything(selection);
  const { statuses, projectId, since } = selection;
  if (since !== undefined && entry.time < since) return false;
  if (projectId !== undefined && entry.fields.project !== projectId) return false;
  return statuses.length === 0 || statuses.some((status) => String(entry.fields.status ?? '').startsWith(status));
}

import type { Lines } from './lines.js';

/** The result of a command: a value for `--json`, and the same as text. */
export interface CommandResult {
  readonly value: unknown;
  /** A plain string is one line: a line break in it belongs to a value, and is shown as such. */
  readonly text: string | Lines;
  /** Suggestion of the next command, on stderr. */
  readonly next?: string;
  /** 0 where absent. */
  readonly exitCode?: number;
}

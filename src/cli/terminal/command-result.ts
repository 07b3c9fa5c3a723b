import type { Lines } from './lines.js';

/** The result of a command: a value for `--json`, and its text. */
export interface CommandResult {
  readonly value: unknown;
  /** A plain string is a single line: line breaks in it come from a value and are escaped. */
  readonly text: string | Lines;
  /** Suggested next command, printed on stderr. */
  readonly next?: string;
  /** Defaults to 0. */
  readonly exitCode?: number;
}

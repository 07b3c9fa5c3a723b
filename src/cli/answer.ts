/** What a command gives: a value for programs and the same as text for people. */
export interface Answer {
  readonly value: unknown;
  readonly text: string;
  /** Suggestion of the next command, on stderr. */
  readonly next?: string;
  /** 0 where absent. */
  readonly exitCode?: number;
}

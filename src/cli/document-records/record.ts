/** A line in a file of documents: its value or its problem. An empty line has neither. */
export interface DocumentRecord {
  /** The last line of a multi-line CSV row. */
  readonly line: number;
  readonly bytes: number;
  readonly value?: Readonly<Record<string, unknown>>;
  readonly problem?: string;
}

/** A line of a file of documents: its value, or what is wrong with it; neither where it is empty. */
export interface DocumentRecord {
  /** Of several lines of CSV the last. */
  readonly line: number;
  readonly bytes: number;
  readonly value?: Readonly<Record<string, unknown>>;
  readonly problem?: string;
}

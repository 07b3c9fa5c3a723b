/** An answer that is JSON text already; what a database has printed is not parsed only to be printed again. */
export class RawJson {
  readonly text: string;
  /** Instead of the declared status. */
  readonly status: number | undefined;

  constructor(text: string, status?: number) {
    this.text = text;
    this.status = status;
  }
}

/** An answer that is JSON text already; what a database has printed is not parsed only to be printed again. */
export class RawJson {
  /** The text in pieces: a long one is copied when it is joined with what stands around it, and once more when it is sent. */
  readonly parts: readonly string[];
  /** Instead of the declared status. */
  readonly status: number | undefined;

  constructor(text: string | readonly string[], status?: number) {
    this.parts = typeof text === 'string' ? [text] : text;
    this.status = status;
  }

  get text(): string {
    return this.parts.join('');
  }
}

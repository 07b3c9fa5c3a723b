/** A JSON reply that is text already: what a database has printed is sent without being parsed and printed again. */
export class RawJson {
  /** The text in pieces, as joining a long one with the text around it would copy it once more. */
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

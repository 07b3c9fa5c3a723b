/** A JSON reply that is text already: what a database has printed is sent without being parsed and printed again. */
export class RawJson {
  /** The text in pieces, as joining a long one with the text around it would copy it once more. */
  readonly parts: readonly string[];
  /** Instead of the declared status. */
  readonly status: number | undefined;

  /** The entity tag of what it shows, if any. */
  readonly etag: string | undefined;

  /** Instead of `application/json`. */
  readonly mediaType: string | undefined;

  constructor(text: string | readonly string[], status?: number, etag?: string, mediaType?: string) {
    this.parts = typeof text === 'string' ? [text] : text;
    this.status = status;
    this.etag = etag;
    this.mediaType = mediaType;
  }

  get text(): string {
    return this.parts.join('');
  }
}

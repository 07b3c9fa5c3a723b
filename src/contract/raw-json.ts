/** A JSON reply that is text already: JSON printed by a database is sent without being parsed and printed again. */
export class RawJson {
  /** The text in pieces, because joining a long one with the text around it would copy it again. */
  readonly parts: readonly string[];
  /** Instead of the declared status. */
  readonly status: number | undefined;

  /** The entity tag of the content, if any. */
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

import type { Readable } from 'node:stream';

/** The bytes of a file as a reply: whole, or the range that the client asks for. */
export class FileContent {
  readonly size: number;
  /** The media type, by what the bytes are. */
  readonly type: string;
  readonly name: string;
  /** Names these bytes (RFC 9110 §8.8.3), without its quotes. */
  readonly etag: string;
  /** Whether a browser may show it instead of saving it. */
  readonly isInline: boolean;
  /** The bytes from `start` to `end`, both included. Throws Failure. */
  readonly open: (start: number, end: number) => Promise<Readable>;

  constructor(content: Pick<FileContent, 'size' | 'type' | 'name' | 'etag' | 'isInline' | 'open'>) {
    this.size = content.size;
    this.type = content.type;
    this.name = content.name;
    this.etag = content.etag;
    this.isInline = content.isInline;
    this.open = content.open;
  }
}

import type { Readable } from 'node:stream';

/** The bytes of a file as a reply: whole, or the range that the client requests. */
export class FileContent {
  readonly size: number;
  /** The media type, detected from the bytes. */
  readonly type: string;
  readonly name: string;
  /** The entity tag of these bytes (RFC 9110 §8.8.3), without its quotes. */
  readonly etag: string;
  /** True if a browser may display the file instead of saving it. */
  readonly isInline: boolean;
  /** The bytes from `start` to `end`, both included. Throws Failure. */
  readonly open: (start: number, end: number) => Promise<Readable>;
  /** Lifetime in any cache, in seconds. If undefined, only the caller may cache the response, and must revalidate it before each use. */
  readonly cacheSeconds: number | undefined;

  constructor(
    content: Pick<FileContent, 'size' | 'type' | 'name' | 'etag' | 'isInline' | 'open'> & {
      readonly cacheSeconds?: number;
    },
  ) {
    this.size = content.size;
    this.type = content.type;
    this.name = content.name;
    this.etag = content.etag;
    this.isInline = content.isInline;
    this.open = content.open;
    this.cacheSeconds = content.cacheSeconds;
  }
}

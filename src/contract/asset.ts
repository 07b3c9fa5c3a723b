/** A file of a page that never changes under its name, compressed with gzip. */
export interface Asset {
  readonly type: string;
  readonly gzip: Buffer;
}

/** The part of a file that a request carries, as `Content-Range` says it. */
export interface ChunkRange {
  readonly start: number;
  /** Included. */
  readonly end: number;
  /** Of the whole file. */
  readonly size: number;
}

/** The file of a form, while it arrives. */
export interface UploadedFile {
  /** As the client calls it, without directories. */
  readonly name: string;
  /** The fields of the form that stand before it. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Can be read once. Throws Failure where the rest does not arrive. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** A form with a file (`multipart/form-data`, RFC 7578) that is read as it arrives. */
export interface Upload {
  /** Undefined for a whole file. */
  readonly chunk: ChunkRange | undefined;
  /** The id of the file that a further chunk belongs to. */
  readonly fileId: string | undefined;
  /** What the body has at most, where the client says it: more than the file. */
  readonly bodyBytes: number | undefined;
  /** Hands the file over as it arrives, then returns the fields of the form, which may stand before and after it. Throws Failure. */
  read<T>(take: (file: UploadedFile) => Promise<T>): Promise<{ readonly fields: unknown; readonly file: T }>;
}

/** The part of a file in a request, from `Content-Range`. */
export interface ChunkRange {
  readonly start: number;
  /** Included. */
  readonly end: number;
  /** Size of the whole file. */
  readonly size: number;
}

/** The file of a form, while it arrives. */
export interface UploadedFile {
  /** The client's name for it, without directories. */
  readonly name: string;
  /** The form fields before it. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Can be read once. Throws Failure if the rest does not arrive. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** A form with a file (`multipart/form-data`, RFC 7578) that is read as it arrives. */
export interface Upload {
  /** Undefined for a whole file. */
  readonly chunk: ChunkRange | undefined;
  /** The id of the file that a further chunk belongs to. */
  readonly fileId: string | undefined;
  /** Most bytes of the body, if the client declares its length; this is more than the file. */
  readonly bodyBytes: number | undefined;
  /** Passes the file on as it arrives, then returns the fields of the form, which may be before and after it. Throws Failure. */
  read<T>(take: (file: UploadedFile) => Promise<T>): Promise<{ readonly fields: unknown; readonly file: T }>;
}

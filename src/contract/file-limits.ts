/** Limits of files; sizes in bytes, times in seconds. */
export const fileLimits = {
  /** Buckets of a project. */
  buckets: 1000,
  /** Characters of a name, and bytes of it as UTF-8. */
  name: 255,
  /** Allowed extensions of a bucket, and characters of each. */
  extensions: 100,
  extension: 64,
  /** Bytes of a chunk, as in the SDKs; the last one may be smaller. */
  chunkBytes: 5_242_880,
  /** The largest `maximumFileSize` of a bucket. */
  maxBytes: 53_687_091_200,
  /** Larger parts of a file are stored uncompressed, because reading a range of compressed bytes starts at their beginning. */
  compressedBytes: 20_000_000,
  /** Concurrent uploads, and concurrent responses with a file, of a process and of one caller. */
  uploadsAtOnce: 128,
  uploadsOfCaller: 32,
  downloadsAtOnce: 512,
  downloadsOfCaller: 64,
  retrySeconds: 5,
  /** `Retry-After` if the bytes of a file are missing. */
  missingRetrySeconds: 600,
  /** Fields of a form besides its file, bytes of a field, and number and bytes of the header fields of a part. */
  fields: 110,
  fieldBytes: 4096,
  partHeaders: 16,
  partHeaderBytes: 8192,
  /** Time limit of a request with a file, and the bytes it must send within `slowSeconds`. */
  uploadSeconds: 3600,
  slowBytes: 30_720,
  slowSeconds: 30,
  /**
   * Unfinished uploads of a user or guest in a project. Several together may use at most this part (a tenth) of `files.maxBytes`; a single
   * one may use more.
   */
  unfinishedOfCreator: 100,
  unfinishedPart: 10,
  /** Idle time after which an upload is removed if its creator needs the slot for another one. */
  idleSeconds: 600,
  /** Idle time after which an upload is abandoned. */
  abandonedSeconds: 86_400,
  /** Time after which an object that is still being written no longer belongs to an upload. */
  writingSeconds: 7200,
  /** Objects that each run of the job checks for a missing file. */
  lookedAt: 1000,
  /** Tokens of a file. */
  tokens: 100,
} as const;

/** Limits of previews; sizes in bytes. */
export const previewLimits = {
  /** Concurrent preview requests of one caller. */
  ofCaller: 128,
  /** Bytes in memory until their responses are sent, of a process and of one caller; small previews are not counted. */
  heldBytes: 268_435_456,
  heldBytesOfCaller: 67_108_864,
  smallBytes: 65_536,
  heldRetrySeconds: 5,
  /** Limits of the disk cache; `cachedBytes` is the largest entry. */
  cacheBytes: 268_435_456,
  cacheEntries: 50_000,
  cachedBytes: 16_777_216,
} as const;

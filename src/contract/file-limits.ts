/** Files; sizes in bytes, times in seconds. */
export const fileLimits = {
  /** Of a project. */
  buckets: 1000,
  /** Characters of a name, and bytes of it as UTF-8. */
  name: 255,
  /** Extensions that a bucket takes, and characters of each. */
  extensions: 100,
  extension: 64,
  /** Of a chunk, as the SDKs have it; the last is smaller. */
  chunkBytes: 5_242_880,
  /** The largest `maximumFileSize` of a bucket, and what one has where nothing is said. */
  maxBytes: 53_687_091_200,
  defaultBytes: 30_000_000,
  /** Larger parts of a file are stored as they are: a range of compressed bytes is read from their beginning. */
  compressedBytes: 20_000_000,
  /** Uploads, and responses with a file, under way at once in a process, and of these those of one caller. */
  uploadsAtOnce: 128,
  uploadsOfCaller: 32,
  downloadsAtOnce: 512,
  downloadsOfCaller: 64,
  retrySeconds: 5,
  /** `Retry-After` where the bytes of a file are missing. */
  missingRetrySeconds: 600,
  /** Of a form beside its file: fields, bytes of one, and header fields of a part. */
  fields: 110,
  fieldBytes: 4096,
  partHeaders: 16,
  partHeaderBytes: 8192,
  /** A request that carries a file may take so long, and must bring so many bytes in so many seconds. */
  uploadSeconds: 3600,
  slowBytes: 30_720,
  slowSeconds: 30,
  /**
   * Uploads of a user or guest in a project that are not finished, and the part of `files.maxBytes` that they may have where there is more
   * than one: a tenth.
   */
  unfinishedOfCreator: 100,
  unfinishedPart: 10,
  /** After how long without a chunk an upload makes room for another one of its creator. */
  idleSeconds: 600,
  /** After how long without a chunk an upload is given up. */
  abandonedSeconds: 86_400,
  /** After how long an object that was begun to be written is no part of an upload any more. */
  writingSeconds: 7200,
  /** Objects that each run of the job looks at, for those whose file is gone. */
  lookedAt: 1000,
  /** Of a file. */
  tokens: 100,
} as const;

/** Previews; sizes in bytes. */
export const previewLimits = {
  /** Of one caller that are waited for at once. */
  ofCaller: 128,
  /** In memory until their responses have left: in a process, and of one caller, without those that are small. */
  heldBytes: 268_435_456,
  heldBytesOfCaller: 67_108_864,
  smallBytes: 65_536,
  heldRetrySeconds: 5,
  /** On the disk. */
  cacheBytes: 268_435_456,
  cacheEntries: 50_000,
  cachedBytes: 16_777_216,
} as const;

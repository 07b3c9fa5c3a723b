/** The last line of an archive, with the digest of what precedes it. */
export const trailerOf = (sha256: string): Uint8Array => Buffer.from(`sha256 ${sha256}\n`);
/** Its length. */
export const trailerBytes = trailerOf('0'.repeat(64)).length;

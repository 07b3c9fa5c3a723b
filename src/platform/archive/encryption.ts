import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { Decrypter, Encrypter } from 'age-encryption';
import { identityOf, recipientOf } from './passphrase.js';
import { DamagedArchiveError } from './reader.js';

/** The beginning of a file in the age format (https://age-encryption.org/v1). */
const magic = Buffer.from('age-encryption.org/v1');

/** The passphrase is missing or wrong. */
export class PassphraseError extends Error {
  override readonly name = 'PassphraseError';
}

/** Encrypts bytes with a passphrase, in the age format; the program `age` decrypts them. */
export async function* encrypted(bytes: AsyncIterable<Uint8Array>, passphrase: string): AsyncGenerator<Uint8Array> {
  const encrypter = new Encrypter();
  encrypter.addRecipient(recipientOf(passphrase));
  yield* (await encrypter.encrypt(streamOf(bytes))) as ReadableStream<Uint8Array>;
}

/**
 * Decrypts bytes if they are encrypted, and passes others on. Throws PassphraseError, and DamagedArchiveError if encrypted bytes were
 * changed or the end is missing.
 */
export async function* decrypted(
  bytes: AsyncIterable<Uint8Array>,
  passphrase: string | undefined,
): AsyncGenerator<Uint8Array> {
  const iterator = bytes[Symbol.asyncIterator]();
  let begin = Buffer.alloc(0);
  while (begin.length < magic.length) {
    const { done, value } = await iterator.next();
    if (done) break;
    begin = Buffer.concat([begin, value]);
  }
  const whole = (async function* () {
    yield begin;
    yield* { [Symbol.asyncIterator]: () => iterator };
  })();
  if (!begin.subarray(0, magic.length).equals(magic)) yield* whole;
  else if (passphrase === undefined) throw new PassphraseError('It is encrypted');
  else yield* decryptedWith(whole, passphrase);
}

async function* decryptedWith(bytes: AsyncIterable<Uint8Array>, passphrase: string): AsyncGenerator<Uint8Array> {
  const decrypter = new Decrypter();
  decrypter.addIdentity(identityOf(passphrase));
  let stream: ReadableStream<Uint8Array>;
  try {
    stream = (await decrypter.decrypt(streamOf(bytes))) as ReadableStream<Uint8Array>;
  } catch (cause) {
    throw new PassphraseError('The passphrase is wrong, or the beginning of the file is damaged', { cause });
  }
  try {
    yield* stream;
  } catch (cause) {
    throw new DamagedArchiveError('encrypted bytes were changed, or its end is missing', { cause });
  }
}

function streamOf(bytes: AsyncIterable<Uint8Array>) {
  return Readable.toWeb(Readable.from(bytes)) as unknown as globalThis.ReadableStream<Uint8Array>;
}

import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { Clock } from '../clock.js';
import type { FilesLocation } from '../config/files-url.js';
import type { Secret } from '../config/secret.js';
import { errorCode } from '../files.js';
import type { Log } from '../log.js';
import { describeNetworkError } from '../network-errors.js';
import { createNotice } from '../notice.js';
import { createTaskQueue } from '../task-queue.js';
import { demandKey } from './keys.js';
import { type FileStore, FileStoreError, ObjectNotFoundError } from './store.js';

/** What a store over S3 needs. */
export interface S3Deps {
  readonly location: Extract<FilesLocation, { kind: 's3' }>;
  readonly keyId: string;
  readonly secret: Secret;
  readonly clock: Clock;
  readonly log: Pick<Log, 'error' | 'warn'>;
}

/** The most that an upload holds in memory. Larger objects are sent in parts of this size, of which S3 takes 10 000. */
const partBytes = 8 * 1024 * 1024;
/** Uploads at once; together they hold as many parts. Further ones wait, with their bytes unread. */
const uploads = { name: 'upload', parallel: 16, length: 128, longestWaitMs: 60_000 };
const timeouts = { connectionTimeout: 5000, requestTimeout: 60_000, socketTimeout: 120_000 };
/** A download occupies a connection until its client has read it. */
const connections = { keepAlive: true, maxSockets: 512 };
const attempts = 3;

/** What the codes of S3 that need an operator mean. */
const refusals: Readonly<Record<string, string>> = {
  AccessDenied: 'the key may not do this in the bucket',
  AuthorizationHeaderMalformed: 'the region is not that of the bucket',
  InvalidAccessKeyId: 'the service does not know the key id',
  NoSuchBucket: 'there is no such bucket',
  PermanentRedirect: 'the bucket is in another region',
  SignatureDoesNotMatch: 'the secret is not that of the key id',
};

// The client would write on stderr at each start that it will need a newer Node.js one day; package.json says what is needed now.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';

/** Stores objects in a bucket of a service that speaks S3. */
export function createS3Store({ location, keyId, secret, clock, log }: S3Deps): FileStore {
  const client = new S3Client({
    region: location.region,
    ...(location.endpoint === null ? {} : { endpoint: location.endpoint }),
    forcePathStyle: location.pathStyle,
    credentials: { accessKeyId: keyId, secretAccessKey: secret.reveal() },
    // Services other than AWS do not all know the checksums that the client would add.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: attempts,
    requestHandler: { ...timeouts, throwOnRequestTimeout: true, httpAgent: connections, httpsAgent: connections },
  });
  const queue = createTaskQueue(uploads, clock);
  const notice = createNotice();
  const at = (key: string) => {
    demandKey(key);
    return { Bucket: location.bucket, Key: `${location.prefix}${key}` };
  };
  const reported = (error: unknown): FileStoreError => {
    const reason = describeError(error);
    if (notice.isNews(reason)) log.error('files.store-away', { reason });
    return new FileStoreError(error instanceof S3ServiceException ? error.name : errorCode(error), { reason });
  };
  const attempt = async <T>(key: string, call: () => Promise<T>): Promise<T> => {
    try {
      const result = await call();
      notice.over();
      return result;
    } catch (error) {
      if (isMissing(error)) throw new ObjectNotFoundError(key);
      throw reported(error);
    }
  };
  const store = async (key: string, bytes: AsyncIterable<Uint8Array>): Promise<number> => {
    const etags: string[] = [];
    let uploadId: string | undefined;
    let size = 0;
    try {
      for await (const { body, isLast } of partsOf(bytes)) {
        size += body.length;
        if (isLast && uploadId === undefined) {
          await attempt(key, () => client.send(new PutObjectCommand({ ...at(key), Body: body })));
          return size;
        }
        uploadId ??= (await attempt(key, () => client.send(new CreateMultipartUploadCommand(at(key))))).UploadId ?? '';
        const part = { ...at(key), UploadId: uploadId, PartNumber: etags.length + 1, Body: body };
        etags.push((await attempt(key, () => client.send(new UploadPartCommand(part)))).ETag ?? '');
      }
      const parts = etags.map((ETag, index) => ({ ETag, PartNumber: index + 1 }));
      const whole = { ...at(key), UploadId: uploadId, MultipartUpload: { Parts: parts } };
      await attempt(key, () => client.send(new CompleteMultipartUploadCommand(whole)));
      return size;
    } catch (error) {
      if (uploadId !== undefined) await abandon(key, uploadId);
      throw error;
    }
  };
  const abandon = async (key: string, uploadId: string): Promise<void> => {
    try {
      await client.send(new AbortMultipartUploadCommand({ ...at(key), UploadId: uploadId }));
    } catch (error) {
      log.warn('files.upload-not-aborted', { key, reason: describeError(error) });
    }
  };
  return {
    write: (key, bytes) => queue(() => store(key, bytes)),
    read: async (key, range) => {
      const bytes = range === undefined ? {} : { Range: `bytes=${range.start}-${range.end}` };
      const answer = await attempt(key, () => client.send(new GetObjectCommand({ ...at(key), ...bytes })));
      const { Body, $metadata } = answer;
      if (!(Body instanceof Readable)) throw new TypeError('the answer has no body');
      if (range !== undefined && $metadata.httpStatusCode !== 206) {
        Body.destroy();
        throw new FileStoreError('range-ignored', { reason: 'the service does not know ranges' });
      }
      return Body;
    },
    size: async (key) => {
      try {
        return (await attempt(key, () => client.send(new HeadObjectCommand(at(key))))).ContentLength;
      } catch (error) {
        if (error instanceof ObjectNotFoundError) return undefined;
        throw error;
      }
    },
    remove: async (key) => {
      await attempt(key, () => client.send(new DeleteObjectCommand(at(key))));
    },
    list: async function* (prefix) {
      let token: string | undefined;
      do {
        const page = {
          Bucket: location.bucket,
          Prefix: `${location.prefix}${prefix === '' ? '' : `${prefix}/`}`,
          ContinuationToken: token,
        };
        const found = await attempt(prefix, () => client.send(new ListObjectsV2Command(page)));
        for (const { Key = '', Size = 0, LastModified } of found.Contents ?? [])
          yield { key: Key.slice(location.prefix.length), size: Size, modifiedAt: LastModified?.getTime() ?? 0 };
        token = found.NextContinuationToken;
      } while (token !== undefined);
    },
    close: async () => client.destroy(),
  };
}

/**
 * The bytes in parts of the same size but for the last. All parts lie in one buffer, so each is to be sent before the next is asked for, and small
 * pieces cost no more than their bytes.
 */
async function* partsOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<{ body: Buffer; isLast: boolean }> {
  const buffer = Buffer.allocUnsafeSlow(partBytes);
  let filled = 0;
  for await (const piece of bytes) {
    for (let taken = 0; taken < piece.length; ) {
      if (filled === partBytes) {
        yield { body: buffer, isLast: false };
        filled = 0;
      }
      const some = piece.subarray(taken, taken + partBytes - filled);
      buffer.set(some, filled);
      filled += some.length;
      taken += some.length;
    }
  }
  yield { body: buffer.subarray(0, filled), isLast: true };
}

function isMissing(error: unknown): boolean {
  return error instanceof S3ServiceException && ['NoSuchKey', 'NotFound'].includes(error.name);
}

function describeError(error: unknown): string {
  if (!(error instanceof S3ServiceException)) return describeNetworkError(error);
  const status = error.$metadata.httpStatusCode;
  return refusals[error.name] ?? `the service answered ${status ?? 'nothing'} (${error.name})`;
}

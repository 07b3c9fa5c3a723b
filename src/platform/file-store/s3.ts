import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
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
import type { FilesLocation } from '../config/files-url.js';
import type { Secret } from '../config/secret.js';
import { errorCode } from '../files.js';
import type { Log } from '../log.js';
import { describeNetworkError } from '../network-errors.js';
import { createNotice } from '../notice.js';
import { demandKey } from './keys.js';
import { type Part, partsOf } from './parts.js';
import { type FileStore, FileStoreError, ObjectDamagedError, ObjectNotFoundError } from './store.js';

/** What a store over S3 needs. */
export interface S3Deps {
  readonly location: Extract<FilesLocation, { kind: 's3' }>;
  readonly keyId: string;
  readonly secret: Secret;
  /** Where parts that are being sent wait on the disk. */
  readonly directory: string;
  readonly log: Pick<Log, 'error' | 'warn'>;
}

const timeouts = { connectionTimeout: 5000, requestTimeout: 60_000, socketTimeout: 120_000 };
/** A download occupies a connection until its client has read it. */
const connections = { keepAlive: true, maxSockets: 512 };
const attempts = 3;
/** Before a part is sent again, and twice as long the next time. */
const pauseMs = 100;
/** After its first attempt a part is sent again only for so long: a service that never answers holds an upload for one time limit. */
const againWithinMs = 30_000;
/** The client would write on stderr what is logged as `files.store-away`. */
const silent = { trace: () => {}, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

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
export function createS3Store({ location, keyId, secret, directory, log }: S3Deps): FileStore {
  const client = new S3Client({
    region: location.region,
    ...(location.endpoint === null ? {} : { endpoint: location.endpoint }),
    forcePathStyle: location.pathStyle,
    credentials: { accessKeyId: keyId, secretAccessKey: secret.reveal() },
    // Services other than AWS do not all know the checksums that the client would add.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: attempts,
    logger: silent,
    requestHandler: { ...timeouts, throwOnRequestTimeout: true, httpAgent: connections, httpsAgent: connections },
  });
  const notice = createNotice();
  const at = (key: string) => {
    demandKey(key);
    return { Bucket: location.bucket, Key: `${location.prefix}${key}` };
  };
  const reported = (error: unknown): FileStoreError => {
    const reason = describeError(error);
    if (notice.isNews(reason)) log.error('files.store-away', { reason });
    return new FileStoreError(error instanceof S3ServiceException ? error.name : errorCode(error), {
      reason,
      cause: error,
    });
  };
  const attempt = async <T>(key: string, call: () => Promise<T>): Promise<T> => {
    try {
      const result = await call();
      notice.over();
      return result;
    } catch (error) {
      if (isMissing(error)) throw new ObjectNotFoundError(key);
      if (error instanceof S3ServiceException && error.name === 'InvalidRange') throw new ObjectDamagedError(error);
      throw reported(error);
    }
  };
  /** The client does not send a stream again by itself. */
  const send = async <T>(
    key: string,
    { body }: Part,
    request: (bytes: Buffer | Readable) => Promise<T>,
  ): Promise<T> => {
    for (let count = 1, until = performance.now() + againWithinMs; ; count++) {
      const bytes = body();
      try {
        return await attempt(key, () => request(bytes));
      } catch (error) {
        const isLate = count === attempts || performance.now() > until;
        const isFinal = Buffer.isBuffer(bytes) || isLate || !isPassing(error);
        if (isFinal) throw error;
        await sleep(pauseMs * 2 ** (count - 1));
      } finally {
        if (bytes instanceof Readable) bytes.destroy();
      }
    }
  };
  const store = async (key: string, bytes: AsyncIterable<Uint8Array>): Promise<number> => {
    const etags: string[] = [];
    let uploadId: string | undefined;
    let size = 0;
    try {
      for await (const part of partsOf(bytes, directory)) {
        size += part.size;
        const object = { ...at(key), ContentLength: part.size };
        if (part.isLast && uploadId === undefined) {
          await send(key, part, (Body) => client.send(new PutObjectCommand({ ...object, Body })));
          return size;
        }
        uploadId ??= (await attempt(key, () => client.send(new CreateMultipartUploadCommand(at(key))))).UploadId ?? '';
        const place = { ...object, UploadId: uploadId, PartNumber: etags.length + 1 };
        const { ETag } = await send(key, part, (Body) => client.send(new UploadPartCommand({ ...place, Body })));
        etags.push(ETag ?? '');
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
    write: store,
    read: async (key, range) => {
      const bytes = range === undefined ? {} : { Range: `bytes=${range.start}-${range.end}` };
      const answer = await attempt(key, () => client.send(new GetObjectCommand({ ...at(key), ...bytes })));
      const { Body, ContentLength, $metadata } = answer;
      if (!(Body instanceof Readable)) throw new TypeError('the answer has no body');
      if (range !== undefined && $metadata.httpStatusCode !== 206) {
        Body.destroy();
        throw new FileStoreError('range-ignored', { reason: 'the service does not know ranges' });
      }
      if (range !== undefined && ContentLength !== range.end - range.start + 1) {
        Body.destroy();
        throw new ObjectDamagedError();
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

function isMissing(error: unknown): boolean {
  return error instanceof S3ServiceException && ['NoSuchKey', 'NotFound'].includes(error.name);
}

/** Whether it may go well the next time: the connection broke, or the service has trouble of its own. */
function isPassing(error: unknown): boolean {
  const { cause } = error as FileStoreError;
  if (!(cause instanceof S3ServiceException)) return true;
  const status = cause.$metadata.httpStatusCode ?? 500;
  return status >= 500 || status === 429;
}

function describeError(error: unknown): string {
  if (!(error instanceof S3ServiceException)) return describeNetworkError(error);
  const status = error.$metadata.httpStatusCode;
  return refusals[error.name] ?? `the service answered ${status ?? 'nothing'} (${error.name})`;
}

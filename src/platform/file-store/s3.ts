import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { FilesLocation } from '../config/files-url.js';
import type { Secret } from '../config/secret.js';
import { describeNetworkError } from '../outbound/network-errors.js';
import { bind } from '../runtime/bind.js';
import { errorCode } from '../runtime/files.js';
import type { Log } from '../runtime/log.js';
import { createNotice, type Notice } from '../runtime/notice.js';
import { retry } from '../runtime/retry.js';
import { requireKey } from './keys.js';
import { defaultPartBytes, filePartsOf, type Part } from './parts.js';
import {
  type ByteRange,
  type FileStore,
  FileStoreError,
  type ListOptions,
  ObjectDamagedError,
  ObjectNotFoundError,
  type StoredObject,
} from './store.js';

/** Dependencies of an S3 store. */
export interface S3Deps {
  readonly location: Extract<FilesLocation, { kind: 's3' }>;
  readonly keyId: string;
  readonly secret: Secret;
  /** Directory that buffers the parts being sent. */
  readonly directory: string;
  /** Bytes of one request. */
  readonly partBytes?: number | undefined;
  readonly log: Pick<Log, 'error' | 'warn'>;
}

const timeouts = { connectionTimeout: 5000, requestTimeout: 60_000, socketTimeout: 120_000 };
/** A download occupies a connection until its client has read it. */
const connections = { keepAlive: true, maxSockets: 512 };
const attempts = 3;
/** Pause before a part is sent again; doubled for each further attempt. */
const pauseMs = 100;
/** A part is retried only within this time, so that an unresponsive service delays an upload by one time limit only. */
const againWithinMs = 30_000;
/** Keeps the client from writing to stderr; its errors are logged as `files.store-away`. */
const silent = { trace: () => {}, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Meanings of S3 codes that require an operator. */
const refusals: Readonly<Record<string, string>> = {
  AccessDenied: 'the key may not do this in the bucket',
  AuthorizationHeaderMalformed: 'the region is not that of the bucket',
  InvalidAccessKeyId: 'the service does not know the key id',
  NoSuchBucket: 'there is no such bucket',
  PermanentRedirect: 'the bucket is in another region',
  SignatureDoesNotMatch: 'the secret is not that of the key id',
};

// Otherwise the client warns on stderr at each start about a future Node.js requirement; package.json states the current one.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';

interface Bucket extends Omit<S3Deps, 'keyId' | 'secret'> {
  readonly client: S3Client;
  readonly notice: Notice;
}

/** Stores objects in a bucket of an S3-compatible service. */
export function createS3Store({ keyId, secret, ...deps }: S3Deps): FileStore {
  const { region, endpoint, pathStyle } = deps.location;
  const { partBytes = defaultPartBytes } = deps;
  // Large parts get more time, so that the same connection suffices.
  const requestTimeout = timeouts.requestTimeout * Math.max(1, partBytes / defaultPartBytes);
  const client = new S3Client({
    region,
    ...(endpoint === null ? {} : { endpoint }),
    forcePathStyle: pathStyle,
    credentials: { accessKeyId: keyId, secretAccessKey: secret.reveal() },
    // Some services other than AWS do not support the checksums that the client would add.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: attempts,
    logger: silent,
    requestHandler: {
      ...timeouts,
      requestTimeout,
      throwOnRequestTimeout: true,
      httpAgent: connections,
      httpsAgent: connections,
    },
  });
  const bucket: Bucket = { ...deps, client, notice: createNotice() };
  return { ...bind(bucket, { write, read, size, remove, list, removeRemains }), close: async () => client.destroy() };
}

async function write(bucket: Bucket, key: string, bytes: AsyncIterable<Uint8Array>): Promise<number> {
  const { client, directory, partBytes } = bucket;
  const etags: string[] = [];
  let uploadId: string | undefined;
  let size = 0;
  try {
    for await (const part of filePartsOf(bytes, directory, partBytes)) {
      size += part.size;
      const object = { ...at(bucket, key), ContentLength: part.size };
      if (part.isLast && uploadId === undefined) {
        await send(bucket, key, part, (Body) => client.send(new PutObjectCommand({ ...object, Body })));
        return size;
      }
      uploadId ??= await beginUpload(bucket, key);
      const place = { ...object, UploadId: uploadId, PartNumber: etags.length + 1 };
      const { ETag } = await send(bucket, key, part, (Body) => client.send(new UploadPartCommand({ ...place, Body })));
      etags.push(ETag ?? '');
    }
    const parts = etags.map((ETag, index) => ({ ETag, PartNumber: index + 1 }));
    const whole = { ...at(bucket, key), UploadId: uploadId, MultipartUpload: { Parts: parts } };
    await attempt(bucket, key, () => client.send(new CompleteMultipartUploadCommand(whole)));
    return size;
  } catch (error) {
    if (uploadId !== undefined) await abandon(bucket, key, uploadId);
    throw error;
  }
}

function at({ location }: Bucket, key: string) {
  requireKey(key);
  return { Bucket: location.bucket, Key: `${location.prefix}${key}` };
}

async function beginUpload(bucket: Bucket, key: string): Promise<string> {
  const command = new CreateMultipartUploadCommand(at(bucket, key));
  return (await attempt(bucket, key, () => bucket.client.send(command))).UploadId ?? '';
}

async function abandon(bucket: Bucket, key: string, uploadId: string): Promise<void> {
  try {
    await bucket.client.send(new AbortMultipartUploadCommand({ ...at(bucket, key), UploadId: uploadId }));
  } catch (error) {
    bucket.log.warn('files.upload-not-aborted', { key, reason: describeError(error) });
  }
}

/** Sends a part. Repeats parts that are read from the disk; the client itself does not retry streams. */
async function send<T>(
  bucket: Bucket,
  key: string,
  { body, isInMemory }: Part,
  request: (bytes: Buffer | Readable) => Promise<T>,
): Promise<T> {
  const until = performance.now() + againWithinMs;
  return retry(
    async () => {
      const bytes = body();
      try {
        return await attempt(bucket, key, () => request(bytes));
      } finally {
        if (bytes instanceof Readable) bytes.destroy();
      }
    },
    async (error, count) => {
      if (isInMemory || count === attempts || performance.now() > until || !isPassing(error)) return false;
      await sleep(pauseMs * 2 ** (count - 1));
      return true;
    },
  );
}

async function attempt<T>({ notice, log }: Bucket, key: string, call: () => Promise<T>): Promise<T> {
  try {
    const result = await call();
    notice.over();
    return result;
  } catch (error) {
    if (isMissing(error)) throw new ObjectNotFoundError(key);
    if (error instanceof S3ServiceException && error.name === 'InvalidRange') throw new ObjectDamagedError(error);
    const reason = describeError(error);
    if (notice.isNews(reason)) log.error('files.store-away', { reason });
    const code = error instanceof S3ServiceException ? error.name : errorCode(error);
    throw new FileStoreError(code, { reason, cause: error });
  }
}

async function read(bucket: Bucket, key: string, range?: ByteRange): Promise<Readable> {
  const bytes = range === undefined ? {} : { Range: `bytes=${range.start}-${range.end}` };
  const get = () => bucket.client.send(new GetObjectCommand({ ...at(bucket, key), ...bytes }));
  const { Body, ContentLength, $metadata } = await attempt(bucket, key, get);
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
}

async function size(bucket: Bucket, key: string): Promise<number | undefined> {
  try {
    return (await attempt(bucket, key, () => bucket.client.send(new HeadObjectCommand(at(bucket, key))))).ContentLength;
  } catch (error) {
    if (error instanceof ObjectNotFoundError) return undefined;
    throw error;
  }
}

async function remove(bucket: Bucket, key: string): Promise<void> {
  await attempt(bucket, key, () => bucket.client.send(new DeleteObjectCommand(at(bucket, key))));
}

async function* list(
  bucket: Bucket,
  prefix: string,
  { isFlat = false }: ListOptions = {},
): AsyncGenerator<StoredObject> {
  const { client, location } = bucket;
  let token: string | undefined;
  do {
    const page = {
      Bucket: location.bucket,
      Prefix: `${location.prefix}${prefix === '' ? '' : `${prefix}/`}`,
      ContinuationToken: token,
      ...(isFlat ? { Delimiter: '/' } : {}),
    };
    const found = await attempt(bucket, prefix, () => client.send(new ListObjectsV2Command(page)));
    for (const { Key = '', Size = 0, LastModified } of found.Contents ?? [])
      yield { key: Key.slice(location.prefix.length), size: Size, modifiedAt: LastModified?.getTime() ?? 0 };
    token = found.NextContinuationToken;
  } while (token !== undefined);
}

async function removeRemains(bucket: Bucket, isRemain: (object: StoredObject) => boolean): Promise<void> {
  const { client, location } = bucket;
  const page = new ListMultipartUploadsCommand({ Bucket: location.bucket, Prefix: location.prefix });
  // Some services have no such list, or the key may not read it; they remove the parts by their own rules.
  const { Uploads = [] } = await client.send(page).catch(() => ({ Uploads: [] }));
  for (const { Key = '', UploadId = '', Initiated } of Uploads) {
    const key = Key.slice(location.prefix.length);
    const modifiedAt = Initiated?.getTime() ?? Number.POSITIVE_INFINITY;
    if (isRemain({ key, size: 0, modifiedAt })) await abandon(bucket, key, UploadId);
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof S3ServiceException && ['NoSuchKey', 'NotFound'].includes(error.name);
}

/** True if a retry may succeed: the connection broke, or the service has an internal error. */
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

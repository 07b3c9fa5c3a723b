// The object storage of the outside world: a server that speaks S3 on the loopback address.
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from 's3rver';
import { after } from './runner.js';

/** An S3 server that ends with the calling test, or with the file when started outside of one. */
export interface S3Server {
  readonly origin: string;
  readonly bucket: string;
  /** The value of `SVC_FILES_URL`, with a prefix in the bucket. */
  url(prefix: string): string;
  /** The settings of a server that stores its files here. */
  settings(prefix: string): Record<string, string>;
  /** Method and path with query of each request so far. */
  readonly requests: string[];
  /** Uploads in parts that were neither completed nor aborted. */
  openUploads(): string[];
  /** Answers a request itself: true where it did. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean;
}

/** The only key that the server knows. */
const credentials = { keyId: 'S3RVER', secret: 'S3RVER' };
const bucket = 'files';

/** Starts an S3 server with an empty bucket. */
export async function startS3Server(): Promise<S3Server> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-s3-'));
  const s3 = new S3rver({ directory, silent: true, configureBuckets: [{ name: bucket, configs: [] }] });
  await s3.configureBuckets();
  repairRanges(s3);
  const answer = s3.callback();
  const uploads = join(directory, bucket, '._S3rver_uploads');
  const server = createServer((request, response) => {
    const { method = '', url = '' } = request;
    started.requests.push(`${method} ${url}`);
    if (started.intercept(request, response)) return;
    const upload = new URL(url, 'http://s3').searchParams.get('uploadId');
    if (method !== 'DELETE' || upload === null) return answer(request, response);
    // AbortMultipartUpload, which s3rver does not have.
    rmSync(join(uploads, upload), { recursive: true });
    response.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.close();
    server.closeAllConnections();
    rmSync(directory, { recursive: true, force: true });
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = (prefix: string) => `s3://${bucket}/${prefix}?endpoint=${encodeURIComponent(origin)}`;
  const started: S3Server = {
    origin,
    bucket,
    url,
    settings: (prefix) => ({
      SVC_FILES_URL: url(prefix),
      SVC_FILES_KEY_ID: credentials.keyId,
      SVC_FILES_SECRET: credentials.secret,
    }),
    requests: [],
    openUploads: () => {
      try {
        return readdirSync(uploads);
      } catch {
        return [];
      }
    },
    intercept: () => false,
  };
  return started;
}

type Store = { getObject(bucket: string, key: string, options?: { end?: number | object }): Promise<unknown> };

/** To s3rver a range that ends at 0 is one without an end; an object of that value is one that it heeds. */
function repairRanges(s3: S3rver): void {
  const { store } = s3 as S3rver & { store: Store };
  const { getObject } = store;
  store.getObject = (bucket, key, options) =>
    getObject.call(store, bucket, key, options?.end === 0 ? { ...options, end: Object(0) } : options);
}

/** Answers with an error of S3. */
export function answerS3Error(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { 'Content-Type': 'application/xml' });
  response.end(`<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${code}</Message></Error>`);
}

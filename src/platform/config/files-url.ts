import { z } from 'zod';
import { Secret } from './secret.js';

/** Storage location of files. */
export type FilesLocation =
  | { readonly kind: 'disk'; readonly directory: string }
  | {
      readonly kind: 's3';
      readonly bucket: string;
      /** Prefix of every key: empty, or path segments that end in a slash. */
      readonly prefix: string;
      /** Address of the service; null: that of AWS in the region. */
      readonly endpoint: string | null;
      readonly region: string;
      /** True if the bucket is part of the path, not of the host name. */
      readonly pathStyle: boolean;
    };

const bucketName = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const prefixName = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;
const parameterNames = ['endpoint', 'region', 'pathStyle'];

/** Parses `file:DIRECTORY` or `s3://BUCKET/PREFIX?endpoint=URL&region=NAME&pathStyle=true`; undefined for anything else. */
export function parseFilesUrl(text: string): FilesLocation | undefined {
  const [, directory] = /^file:(.+)$/.exec(text) ?? [];
  if (directory !== undefined) return { kind: 'disk', directory };
  if (!URL.canParse(text)) return undefined;
  const { protocol, username, password, host, pathname, searchParams, hash } = new URL(text);
  if (protocol !== 's3:' || username !== '' || password !== '' || hash !== '' || !bucketName.test(host))
    return undefined;
  const names = [...searchParams.keys()];
  if (new Set(names).size < names.length || !names.every((name) => parameterNames.includes(name))) return undefined;
  const prefix = pathname.replace(/^\/|\/$/g, '');
  const endpoint = searchParams.get('endpoint');
  const region = searchParams.get('region') ?? 'us-east-1';
  const pathStyle = searchParams.get('pathStyle') ?? String(endpoint !== null);
  if (prefix !== '' && !prefixName.test(prefix)) return undefined;
  if (endpoint !== null && !isEndpoint(endpoint)) return undefined;
  if (!/^[a-z0-9-]{1,63}$/.test(region) || !['true', 'false'].includes(pathStyle)) return undefined;
  return {
    kind: 's3',
    bucket: host,
    prefix: prefix === '' ? '' : `${prefix}/`,
    endpoint,
    region,
    pathStyle: pathStyle === 'true',
  };
}

function isEndpoint(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return ['http:', 'https:'].includes(protocol) && [username, password, search, hash].every((part) => part === '');
}

/** Schema of the place of the bytes of files. */
export const filesUrl = z
  .string()
  .refine(
    (value) => parseFilesUrl(value) !== undefined,
    'must be file:DIRECTORY or s3://BUCKET/PREFIX?endpoint=URL&region=NAME&pathStyle=true',
  )
  .transform((value) => new Secret(value));

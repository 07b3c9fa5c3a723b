import { z } from 'zod';
import '#src/contract/problems.js';
import { customId } from '#src/contract/shapes.js';
import { logLevels } from '../runtime/log.js';
import { backupSchemas } from './backup-settings.js';
import { filesUrl } from './files-url.js';
import type { MasterKey } from './master-key.js';
import { databaseUrl, standbyUrl } from './postgres-url.js';
import type { Secret } from './secret.js';
import {
  baseUrl,
  cidrs,
  flag,
  httpUrl,
  list,
  mailFrom,
  masterKey,
  rateOverrides,
  secret,
  smtpUrl,
  wholeNumberIn,
} from './setting-values.js';
import { smsUrl } from './sms-gateway.js';

/** A setting of the installation. */
export interface Setting<S extends z.ZodType = z.ZodType, F extends string | null = string | null> {
  /** Its name in the environment and in `svc.env`. */
  readonly key: `SVC_${string}`;
  /** Converts the text of the file or environment to the value. */
  readonly schema: S;
  /** The default text; null if the setting is optional. */
  readonly fallback: F;
  readonly summary: string;
}

/** Describes a setting whose key is made of the name of its field, such as `SVC_POOL_SIZE` of `poolSize`, unless it is given. */
const setting = <S extends z.ZodType, const F extends string | null>(
  schema: S,
  fallback: F,
  summary: string,
  key?: Setting['key'],
) => ({ schema, fallback, summary, key });

const table = {
  dataDir: setting(z.string().min(1), './svc-data', 'Directory of the SQLite file and all other data; created 0700'),
  databaseUrl: setting(databaseUrl, null, 'sqlite:FILE or postgres://…; unset: svc.db in the data directory'),
  databaseListenUrl: setting(
    databaseUrl,
    null,
    'postgres://… past the connection pooler in SVC_DATABASE_URL, for notifications of new events',
  ),
  databaseReadUrl: setting(standbyUrl, null, 'postgres://… of a standby that answers lists'),
  poolSize: setting(wholeNumberIn(4, 200), '12', 'Most Postgres connections of a process for requests and jobs'),
  filesUrl: setting(
    filesUrl,
    null,
    'file:DIRECTORY or s3://BUCKET/PREFIX?endpoint=URL&region=NAME; unset: files in the data directory',
  ),
  filesKeyId: setting(z.string().min(1), null, 'Id of the access key of the S3 service'),
  filesSecret: setting(secret, null, 'Secret of the access key of the S3 service'),
  filesFrom: setting(
    filesUrl,
    null,
    'Where the bytes of files were before SVC_FILES_URL, until `svc files move` has copied all of them',
  ),
  masterKey: setting(masterKey, null, 'Encrypts every stored secret: 32 bytes base64url, made by `svc init`'),
  baseUrl: setting(
    baseUrl,
    'http://localhost:8080/v1',
    'Public address of the API, ending in /v1; cookies are Secure if it is https',
  ),
  host: setting(z.string().min(1), '127.0.0.1', 'Address to listen on'),
  port: setting(wholeNumberIn(0, 65_535), '8080', 'Port to listen on; 0 takes a free one'),
  trustedProxies: setting(cidrs, '', 'CIDRs of proxies whose X-Forwarded-* headers are believed'),
  headerAliases: setting(
    z
      .string()
      .transform(list)
      .refine(
        (names) => names.every((name) => /^[A-Za-z][A-Za-z0-9]*$/.test(name)),
        'must be words separated by commas',
      ),
    'Appwrite',
    'Other brand names accepted in headers: X-<name>-Project, -Session, -Key and -JWT',
  ),
  passwordMinLength: setting(wholeNumberIn(8, 64), '8', 'Shortest password, in characters; 8 to 64'),
  passwordHash: setting(z.enum(['scrypt', 'argon2id']), 'scrypt', 'How new passwords are hashed: scrypt or argon2id'),
  breachCheck: setting(
    z.enum(['off', 'on', 'strict']),
    'off',
    'Refuse passwords known from breaches: off, on, or strict (refuse too while the corpus cannot be asked)',
  ),
  breachUrl: setting(
    httpUrl,
    'https://api.pwnedpasswords.com/range/',
    'Range API of the breach check; five hex characters of a SHA-1 are appended',
  ),
  updateUrl: setting(
    httpUrl,
    null,
    'URL with the newest version, which only `svc version --check` requests; unset: it requests nothing',
  ),
  sessionDays: setting(wholeNumberIn(1, 365), '30', 'Days a session lives'),
  sessionIdleDays: setting(
    wholeNumberIn(1, 365),
    null,
    'Days without use after which a session ends; unset: no idle limit',
  ),
  smtpUrl: setting(
    smtpUrl,
    null,
    'smtp://USER:PASSWORD@HOST:PORT or smtps://…; unset: mails are kept in the dev mailbox, `svc mail list`',
  ),
  mailFrom: setting(mailFrom, null, 'Sender of mails, such as App <no-reply@example.com>'),
  templatesDir: setting(
    z.string().min(1),
    null,
    'Directory of texts that replace those of mails and SMS; unset: templates in the data directory',
  ),
  smsUrl: setting(
    smsUrl,
    null,
    'SMS gateway, https://USER:PASSWORD@HOST/PATH or twilio://SID:TOKEN@/?from=NUMBER; unset: no login by phone',
  ),
  tokensInResponse: setting(
    z.enum(['auto', 'any', 'key', 'never']),
    'auto',
    'Who gets the secrets of verification and recovery in the response while no mail is configured: auto, any, key or never',
  ),
  realtimeSockets: setting(
    wholeNumberIn(1, 100_000),
    '10000',
    'Sockets of clients in a process; further ones are closed with 1013',
  ),
  realtimeSocketsPerProject: setting(wholeNumberIn(1, 100_000), '5000', 'Of these, sockets of a project'),
  realtimeSocketsPerUser: setting(wholeNumberIn(1, 100_000), '500', 'Of these, sockets of a user'),
  realtimeSocketsPerAddress: setting(
    wholeNumberIn(1, 100_000),
    '1000',
    'Of these, sockets of an address: IPv4, or the /64 of IPv6',
  ),
  rateLimit: setting(flag, 'on', 'off switches the request limits off, for tests'),
  rateLimits: setting(
    rateOverrides,
    '',
    'Overrides, class=count/seconds separated by commas; `svc limits show` lists the classes',
  ),
  totalLimit: setting(
    wholeNumberIn(0, 2_000_000_000),
    '5000',
    'How far the total of a filtered list counts; 0: without limit',
  ),
  querySeconds: setting(
    wholeNumberIn(1, 600),
    '10',
    'Seconds for which a statement of the database may run; then the answer is 503 `general_query_timeout`',
  ),
  answerMaxBytes: setting(
    wholeNumberIn(65_536, 134_217_728),
    '16777216',
    'Largest response in bytes; all responses under way in a process have four times as much, and further large ones wait',
  ),
  compression: setting(
    flag,
    'true',
    'false sends documents, the feed and OpenAPI descriptions uncompressed, such as behind a proxy that compresses them',
  ),
  fileMaxBytes: setting(
    wholeNumberIn(1, 53_687_091_200),
    '30000000',
    'Largest file in bytes, for new buckets that set no size of their own',
  ),
  bodyMaxBytes: setting(wholeNumberIn(1024, 104_857_600), '1048576', 'Largest JSON body in bytes'),
  auditDays: setting(
    wholeNumberIn(30, 36_500),
    null,
    'Days for which entries of the audit log are kept, at least 30; unset: for ever',
  ),
  backupTo: setting(
    backupSchemas.to,
    null,
    'Where backups are: a directory or s3://BUCKET/PREFIX?endpoint=URL&region=NAME; unset: backups in the data directory',
  ),
  backupKeyId: setting(z.string().min(1), null, 'Id of the access key for backups in S3; unset: that of the files'),
  backupSecret: setting(secret, null, 'Secret of the access key for backups in S3'),
  backupPassphrase: setting(
    secret,
    null,
    'Encrypts backups, unless a command names another passphrase; unset: they are not encrypted',
  ),
  backupCron: setting(
    backupSchemas.cron,
    null,
    'When the server makes a backup, in UTC, such as 0 3 * * *; unset: never',
  ),
  backupKeep: setting(
    backupSchemas.keep,
    null,
    'How many backups are kept after a scheduled one: 14, or 7d4w6m for days, weeks and months; unset: all',
  ),
  allowInsecure: setting(
    flag,
    'false',
    'true lets outbound calls use http and private addresses, for development and tests',
    'SVC_WEBHOOK_ALLOW_INSECURE',
  ),
  egressAllow: setting(cidrs, '', 'CIDRs that outbound calls may reach although they are not public'),
  pgPrepared: setting(
    z.union([z.literal('auto'), flag]),
    'auto',
    'Prepared statements on Postgres; auto uses them unless a connection pooler is in between',
  ),
  startPage: setting(flag, 'on', 'off answers 404 at / and /v1, where the service otherwise says that it runs'),
  tlsCert: setting(z.string().min(1), null, 'PEM file of the certificate chain, to serve https directly'),
  tlsKey: setting(z.string().min(1), null, 'PEM file of the private key'),
  drainSeconds: setting(
    wholeNumberIn(0, 300),
    '0',
    'After SIGTERM: seconds in which /readyz is 503 and requests are still served',
  ),
  pidfile: setting(z.string().min(1), null, 'File that holds the process id while the server runs'),
  logLevel: setting(z.enum(logLevels), 'info', 'debug, info, warn or error'),
  logFormat: setting(z.enum(['json', 'pretty']), null, 'json or pretty; unset: pretty on a terminal, else json'),
  logFile: setting(
    z.string().min(1),
    null,
    'File to which the log of the server is appended; reopened on SIGHUP. Unset: stderr',
  ),
  project: setting(customId, null, 'Project of commands without --project; unset: the only one'),
} as const;

type Table = typeof table;
type Settings = { readonly [K in keyof Table]: Setting<Table[K]['schema'], Table[K]['fallback']> };

/** Every setting of the installation. A test compares templates/config/svc.env and docs/settings.md with this table. */
export const settings = Object.fromEntries(
  Object.entries(table).map(([name, { key = keyOf(name), ...rest }]) => [name, { key, ...rest }]),
) as Settings;

/** Every name that the environment and `svc.env` may use. */
export const settingNames: readonly string[] = Object.values(settings).flatMap(({ key }) => [key, `${key}_FILE`]);

function keyOf(name: string): Setting['key'] {
  return `SVC_${name.replace(/[A-Z]/g, '_$&').toUpperCase()}`;
}

/** The effective settings, frozen. Optional ones without a value are undefined. */
export type Config = {
  readonly [K in keyof Settings]: Settings[K]['fallback'] extends string
    ? z.output<Settings[K]['schema']>
    : z.output<Settings[K]['schema']> | undefined;
} & { readonly databaseUrl: Secret; readonly masterKey: MasterKey | undefined };

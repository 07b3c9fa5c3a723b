import { readSmall } from '../runtime/files.js';
import { parseBackupPlace } from './backup-settings.js';
import { type ConfigProblem, type GivenProblem, unreadableFile } from './config-error.js';
import { type FilesLocation, parseFilesUrl } from './files-url.js';
import { isOnLocalhost } from './localhost.js';
import type { Config } from './schema.js';
import { parseSmsGateway } from './sms-gateway.js';

/** Conflicts between settings that are valid by themselves. */
export function problemsBetween(values: Partial<Config>): GivenProblem[] {
  return [
    ...standbyProblems(values),
    ...tlsProblems(values),
    ...filesProblems(values),
    ...backupProblems(values),
    ...mailProblems(values),
    ...smsProblems(values),
    ...updateProblems(values),
  ];
}

function standbyProblems({ databaseUrl, databaseReadUrl }: Partial<Config>): string[] {
  const isPostgres = databaseUrl !== undefined && !databaseUrl.reveal().startsWith('sqlite:');
  return databaseReadUrl === undefined || isPostgres
    ? []
    : ['SVC_DATABASE_READ_URL names a standby of Postgres; SVC_DATABASE_URL must be postgres://… too'];
}

function tlsProblems({ tlsCert, tlsKey }: Partial<Config>): string[] {
  return (tlsCert === undefined) === (tlsKey === undefined) ? [] : ['SVC_TLS_CERT and SVC_TLS_KEY go together'];
}

function filesProblems(values: Partial<Config>): string[] {
  const problems: string[] = [];
  for (const [key, url] of [
    ['SVC_FILES_URL', values.filesUrl],
    ['SVC_FILES_FROM', values.filesFrom],
  ] as const) {
    if (url !== undefined) problems.push(...s3Problems(key, url.reveal(), values));
  }
  if (values.filesFrom !== undefined && values.filesFrom.reveal() === values.filesUrl?.reveal())
    problems.push('SVC_FILES_FROM is the same as SVC_FILES_URL');
  return [...new Set(problems)];
}

function s3Problems(key: string, url: string, values: Partial<Config>): string[] {
  const location = parseFilesUrl(url);
  if (location?.kind !== 's3') return [];
  const problems: string[] = [];
  if (values.filesKeyId === undefined) problems.push('SVC_FILES_KEY_ID is not set; s3: needs it');
  if (values.filesSecret === undefined) problems.push('SVC_FILES_SECRET is not set; s3: needs it');
  return [...problems, ...endpointProblems(key, location, values)];
}

function endpointProblems(
  key: string,
  { endpoint }: Extract<FilesLocation, { kind: 's3' }>,
  { allowInsecure }: Partial<Config>,
): string[] {
  const isPlain = endpoint?.startsWith('http:') === true && !isOnLocalhost(endpoint);
  return isPlain && allowInsecure === false
    ? [`${key} takes an https endpoint; SVC_WEBHOOK_ALLOW_INSECURE allows http, for development`]
    : [];
}

function backupProblems(values: Partial<Config>): string[] {
  const { backupTo, backupKeyId, backupSecret, filesKeyId, filesSecret } = values;
  if ((backupKeyId === undefined) !== (backupSecret === undefined))
    return ['SVC_BACKUP_KEY_ID and SVC_BACKUP_SECRET go together'];
  const location = backupTo === undefined ? undefined : parseBackupPlace(backupTo);
  if (location?.kind !== 's3') return [];
  const hasKey = backupKeyId !== undefined || (filesKeyId !== undefined && filesSecret !== undefined);
  return [
    ...(hasKey ? [] : ['SVC_BACKUP_KEY_ID and SVC_BACKUP_SECRET are not set; SVC_BACKUP_TO with s3: needs them']),
    ...endpointProblems('SVC_BACKUP_TO', location, values),
  ];
}

function mailProblems({ smtpUrl, mailFrom }: Partial<Config>): GivenProblem[] {
  if (smtpUrl === undefined) return [];
  const problems: GivenProblem[] = mailFrom === undefined ? ['SVC_MAIL_FROM is not set; SVC_SMTP_URL needs it'] : [];
  const ca = new URL(smtpUrl.reveal()).searchParams.get('ca');
  const unread = ca === null ? undefined : readingProblem(ca);
  return unread === undefined ? problems : [...problems, unread];
}

function smsProblems({ smsUrl, allowInsecure }: Partial<Config>): string[] {
  const gateway = smsUrl === undefined ? undefined : parseSmsGateway(smsUrl.reveal());
  if (gateway === undefined || allowInsecure !== false) return [];
  if (gateway.kind === 'http')
    return gateway.url.startsWith('https:')
      ? []
      : ['SVC_SMS_URL must be https; SVC_WEBHOOK_ALLOW_INSECURE allows http, for development'];
  return gateway.api === null ? [] : ['SVC_SMS_URL takes api= with SVC_WEBHOOK_ALLOW_INSECURE only, for tests'];
}

/** The egress guard would refuse the request. */
function updateProblems({ updateUrl, allowInsecure }: Partial<Config>): string[] {
  return updateUrl === undefined || allowInsecure !== false || updateUrl.startsWith('https:')
    ? []
    : ['SVC_UPDATE_URL must be https; SVC_WEBHOOK_ALLOW_INSECURE allows http, for development'];
}

function readingProblem(path: string): ConfigProblem | undefined {
  try {
    readSmall(path, 1_048_576);
    return undefined;
  } catch (error) {
    return unreadableFile('SVC_SMTP_URL', path, error);
  }
}

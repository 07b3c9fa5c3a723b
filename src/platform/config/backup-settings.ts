import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { parseSchedule } from './cron.js';
import { type FilesLocation, parseFilesUrl } from './files-url.js';

/** Number of backups that are kept: the newest ones, or the newest of each of the last days, weeks and months with backups. */
export type BackupKeep =
  | { readonly count: number }
  | { readonly days: number; readonly weeks: number; readonly months: number };

/** Parses `14` or `7d4w6m`; undefined for anything else. */
export function parseKeep(text: string): BackupKeep | undefined {
  if (/^\d{1,5}$/.test(text)) return Number(text) > 0 ? { count: Number(text) } : undefined;
  const [whole, days = '0', weeks = '0', months = '0'] =
    /^(?:(\d{1,4})d)?(?:(\d{1,4})w)?(?:(\d{1,4})m)?$/.exec(text) ?? [];
  const keep = { days: Number(days), weeks: Number(weeks), months: Number(months) };
  return whole && keep.days + keep.weeks + keep.months > 0 ? keep : undefined;
}

/** Parses a place of backups, a directory or `s3://BUCKET/PREFIX?endpoint=URL&region=NAME&pathStyle=true`; undefined for anything else. */
export function parseBackupPlace(text: string): FilesLocation | undefined {
  if (text.startsWith('s3://')) return parseFilesUrl(text);
  // Another scheme, such as `file:` or `https:`, is a mistake.
  return text === '' || /^[a-z][a-z0-9]+:/.test(text) ? undefined : { kind: 'disk', directory: text };
}

const schedule = z.string().transform((text, context) => {
  const parsed = parseSchedule(text);
  if (parsed !== undefined) return parsed;
  const message = 'must be the five or six fields of a schedule that comes at most once a minute, such as 0 3 * * *';
  context.issues.push({ code: 'custom', input: text, message });
  return z.NEVER;
});

/** Schemas of the settings of backups. */
export const backupSchemas = {
  cron: schedule,
  to: z
    .string()
    .refine(
      (value) => parseBackupPlace(value)?.kind === 's3' || isAbsolute(value),
      'must be an absolute path or s3://BUCKET/PREFIX?endpoint=URL&region=NAME&pathStyle=true',
    ),
  keep: z
    .string()
    .refine((value) => parseKeep(value) !== undefined, 'must be a number, or days, weeks and months: 7d4w6m'),
};

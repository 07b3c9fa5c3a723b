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

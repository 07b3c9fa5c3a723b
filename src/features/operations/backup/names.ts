import { instantOf } from '#src/platform/runtime/clock.js';

const form = /^svc-(\d{4}-\d{2}-\d{2})T(\d{2})-(\d{2})-(\d{2})Z\.tar(\.age)?$/;

/** The name of a backup that is made at a time, unless the operator gives one. */
export function newBackupName(at: number, isEncrypted: boolean): string {
  return `svc-${instantOf(at).slice(0, 19).replaceAll(':', '-')}Z.tar${isEncrypted ? '.age' : ''}`;
}

/** True for a name that `newBackupName` has made. */
export const isOwnName = (name: string): boolean => form.test(name);

/** True for a name that looks like a backup. */
export const isArchiveName = (name: string): boolean => /\.tar(\.age)?$/.test(name);

/** The time in a name; undefined for a name that the operator gave. */
export function timeOf(name: string): number | undefined {
  const [, date, hour, minute, second] = form.exec(name) ?? [];
  const time = date === undefined ? Number.NaN : Date.parse(`${date}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(time) ? undefined : time;
}

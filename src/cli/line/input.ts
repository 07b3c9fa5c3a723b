import { statSync } from 'node:fs';
import { z } from 'zod';
import { type Clock, instantOf } from '#src/platform/runtime/clock.js';
import { FileTooLargeError, readSmall, utf8Text } from '#src/platform/runtime/files.js';
import { whyUnreadable } from '#src/platform/runtime/system-errors.js';
import { type CommandError, notFoundError, usageError } from '../terminal/exit.js';
import type { ParsedArgs } from './command.js';

/** Maximum length of an invalid value in messages. */
const shownValue = 60;

/** Parses the value of a flag or argument with its schema. Exit 2 if it is invalid. */
export function valid<S extends z.ZodType>(schema: S, name: string, value: unknown): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw usageError(`${name} ${parsed.error.issues[0]?.message ?? 'is not valid'}${gotten(value)}.`);
}

/** Parses the value of a flag with its schema; undefined if it is not given. Exit 2 if it is invalid. */
export function validFlag<S extends z.ZodType>(args: ParsedArgs, flag: `--${string}`, schema: S) {
  const text = args.text(flag);
  return text === undefined ? undefined : valid(schema, flag, text);
}

/**
 * Formats an invalid value as the end of a sentence. Empty for a value not on the command line: it came from a file or stdin, and may be a
 * secret.
 */
export function gotten(value: unknown): string {
  const isOnCommandLine = process.argv.slice(2).some((word) => word === value || word.endsWith(`=${value}`));
  if (typeof value !== 'string' || !isOnCommandLine) return '';
  return value === ''
    ? '; it is empty'
    : `; it is ${value.length > shownValue ? `${value.slice(0, shownValue)}…` : value}`;
}

/** A point in time, converted to the stored format. */
export const instantInput = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2030-01-31T12:00:00Z' })
  .transform((text) => new Date(text).toISOString());

const secondsIn: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** A duration such as `24h`, converted to seconds. */
export const duration = z
  .string()
  .regex(/^\d{1,6}[smhd]$/, 'must be a number with s, m, h or d, such as 24h')
  .transform((text) => Number(text.slice(0, -1)) * (secondsIn[text.slice(-1)] ?? 0));

/** A point in time or an age such as `2d`, converted to the stored format. */
export const timeOrAge = (clock: Clock) =>
  z.string().transform((text, context) => {
    const [time, age] = [instantInput.safeParse(text), duration.safeParse(text)];
    if (time.success) return time.data;
    if (age.success) return instantOf(clock.now() - age.data * 1000);
    context.addIssue('must be a time such as 2030-01-31T12:00:00Z, or a length of time such as 1h or 2d');
    return z.NEVER;
  });

/** A duration of at most `max` seconds. */
export const durationUpTo = (max: number) => duration.pipe(z.int().max(max, `must be at most ${span(max)}`));

/** Formats a duration for a flag, in the largest unit that divides it. */
export function span(seconds: number): string {
  const [unit, length] = Object.entries(secondsIn)
    .reverse()
    .find(([, one]) => seconds % one === 0) ?? ['s', 1];
  return `${seconds / length}${unit}`;
}

/** Parses a flag with a whole number. Exit 2 if it is out of range. */
export function wholeNumber(args: ParsedArgs, flag: `--${string}`, fallback: number, max: number, min = 0): number {
  const text = args.text(flag);
  if (text === undefined) return fallback;
  if (/^\d+$/.test(text) && Number(text) <= max && Number(text) >= min) return Number(text);
  throw usageError(`${flag} must be a whole number ${min === 0 ? 'up' : `from ${min}`} to ${max}${gotten(text)}.`);
}

/** Parses words separated by commas. */
export function commaList(text: string): string[] {
  return text.split(',').map((word) => word.trim());
}

/** Parses `--limit`, the maximum number of entries in a list. */
export function pageLimit(args: ParsedArgs, fallback: number, max: number): number {
  return wholeNumber(args, '--limit', fallback, max, 1);
}

/** Maximum bytes of a secret, a settings file and the body of a delivery. */
export const inputBytes = { secret: 65_536, file: 1_048_576, body: 16_777_216 } as const;

/** Reads stdin. Exit 2 for more than `maxBytes` bytes. */
export async function readStdinBytes(maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge('stdin', maxBytes);
    chunks.push(Buffer.from(chunk));
  }
  return Buffer.concat(chunks);
}

/** Reads the text that a flag expects on stdin, without the trailing newline. Exit 2 if it is empty, too long for a secret or not UTF-8. */
export async function readStdin(flag: string): Promise<string> {
  const text = textOf(await readStdinBytes(inputBytes.secret), 'stdin');
  if (text === '') throw usageError(`${flag}: standard input was empty.`, 'pipe it into the command');
  return text;
}

/**
 * Reads the text file given by a flag, without the trailing newline. Exit 3 if the file does not exist; exit 2 if it is too large or not
 * UTF-8.
 */
export function readSecretFile(file: string, flag: `--${string}`, maxBytes: number = inputBytes.secret): string {
  return textOf(readFileOf(file, flag, maxBytes), `${flag} ${file}`);
}

/** Reads the bytes of the file given by a flag. Exit 3 if the file does not exist; exit 2 if it is too large. */
export function readFileOf(file: string, flag: `--${string}`, maxBytes: number): Buffer {
  try {
    return readSmall(file, maxBytes);
  } catch (error) {
    throw error instanceof FileTooLargeError ? tooLarge(`${flag} ${file}`, maxBytes) : fileNotRead(file, error);
  }
}

/** Reads a file of at most `maxBytes` bytes. Exit 3 if it does not exist; exit 2 if it is too large. */
export function readSmallFile(file: string, maxBytes: number): Buffer {
  try {
    if (statSync(file).isFile()) return readSmall(file, maxBytes);
  } catch (error) {
    if (!(error instanceof FileTooLargeError)) throw fileNotRead(file, error);
  }
  throw usageError(`${file} is no file of at most ${maxBytes / 1024} KiB.`, 'give a smaller file');
}

function tooLarge(name: string, maxBytes: number): CommandError {
  return usageError(`${name} has more than ${maxBytes / 1024} KiB.`, 'check that it is the right file');
}

function textOf(bytes: Buffer, name: string): string {
  const text = utf8Text(bytes);
  if (text === undefined) throw usageError(`${name} is not UTF-8.`, 'store it as UTF-8');
  return text.replace(/\r?\n$/, '');
}

/** Error for a file that cannot be read. */
export function fileNotRead(file: string, error: unknown): CommandError {
  return notFoundError(
    'file_not_found',
    `${file} cannot be read: ${whyUnreadable(error)}.`,
    'check the path and its permissions',
  );
}

/** Rejects URLs with a password, because all users of the machine can list process arguments. Exit 2; the URL is not printed. */
export function refuseSecretsIn(argv: readonly string[]): void {
  const at = argv.findIndex(hasPassword);
  if (at === -1) return;
  const [inOne] = /^--[a-z-]+(?==)/.exec(argv[at] ?? '') ?? [];
  const before = argv[at - 1] ?? '';
  const flag = inOne ?? (before.startsWith('--') ? before : undefined);
  const [setting] = /^SVC_[A-Z_]+$/.exec(before) ?? /^SVC_[A-Z_]+(?==)/.exec(argv[at] ?? '') ?? [];
  const instead =
    setting === undefined
      ? flag && Object.hasOwn(insteadOfPassword, flag) && insteadOfPassword[flag]
      : `svc config set ${setting} - and the URL on stdin, or ${setting}_FILE with the path of a file that holds it`;
  throw usageError(
    `${flag ?? setting ?? 'An argument'} has a URL with a password. Every user of this machine can read the arguments of a process.`,
    instead ||
      (argv.includes('import') && argv.includes('supabase')
        ? 'give - and the URL on stdin'
        : 'take the password out of the URL'),
  );
}

/** How to pass a password for a flag that takes a URL. */
const insteadOfPassword: Readonly<Record<string, string>> = {
  '--url': 'take it out of the URL and give --auth-username NAME and --auth-password-file FILE',
  '--database': 'give --database - and the URL on stdin',
  '--to': 'take it out of the URL; for db copy, give --to - and the URL on stdin',
  '--endpoint': 'take it out of the URL: the key of --key-file is the only credential',
  '--issuer': 'take it out of the URL: the application is known by --client-id ID and --secret-file FILE',
};

function hasPassword(argument: string): boolean {
  // No scheme is longer. Without the bound, matching long arguments would take quadratic time.
  const [url = ''] = /[a-z][a-z0-9+.-]{0,30}:\/\/\S+$/i.exec(argument) ?? [];
  if (/:\/\/[^/?#]*:[^/?#]*@|[?&](?:ssl)?password=/i.test(url)) return true;
  // A password with an unescaped / ? or # makes the URL unparsable.
  return !URL.canParse(url) && /:\/\/[^@]*:.*@/.test(url);
}

import { usageError } from '../terminal/exit.js';
import type { OptionSpec, ParsedArgs } from './command.js';

/** A flag with the value `on` or `off`. */
export function switchOption<const F extends `--${string}`>(flag: F, summary: string) {
  return { flag, value: 'STATE', summary, choices: ['on', 'off'] } as const;
}

/** Converts such a flag to a body member in camel case; an empty object if not given. */
export function onOrOff(args: ParsedArgs, { flag }: { readonly flag: `--${string}` }): Record<string, boolean> {
  const text = args.text(flag);
  return text === undefined ? {} : { [memberOf(flag)]: text === 'on' };
}

/** The member of a body that a flag sets. */
export function memberOf(flag: string): string {
  return flag.slice(2).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** The flag that hides a database, a collection or a bucket. */
export const enabledOption = switchOption('--enabled', 'off hides it from everyone but server keys (default: on)');

/** The argument with the name of something new. */
export const nameArgument = { name: 'NAME', summary: 'display name' } as const;

/** The flag that renames something. */
export const newNameOption = { flag: '--name', value: 'NAME', summary: 'the new name' } as const;

/** The flag with the id of something new. */
export const idOption = { flag: '--id', value: 'ID', summary: 'id to use (default: a generated one)' } as const;

/** The flag that confirms a deletion. */
export const confirmOption = (noun: string) =>
  ({ flag: '--confirm', value: 'NAME', summary: `id or name of the ${noun}, to confirm without a prompt` }) as const;

/** The values of a repeated flag, of which the word `none` stands for an empty list; undefined if not given. */
export function listOrNone(args: ParsedArgs, flag: `--${string}`): string[] | undefined {
  const values = args.list(flag);
  return values.length === 0 ? undefined : values.filter((one) => one !== 'none');
}

/** Puts flags below a heading of the help. */
export function inGroup(group: string, options: readonly OptionSpec[]): OptionSpec[] {
  return options.map((option) => ({ ...option, group }));
}

/** Throws a usage error if a change has no value. */
export function requireChange(change: object, fix: string): void {
  if (Object.values(change).every((value) => value === undefined)) throw usageError('There is nothing to change.', fix);
}

import type { Appliance } from '#src/appliance.js';
import type { LoadedConfig } from '#src/platform/config/load.js';
import type { By } from '#src/platform/db/ledger.js';
import type { Platform } from '#src/platform/index.js';
import type { Answer } from './answer.js';
import type { Output } from './output.js';
import type { Prompts } from './prompts.js';

/** A flag of a command. */
export interface OptionSpec {
  readonly flag: `--${string}`;
  /** What its value is called in the help; absent for a switch. */
  readonly value?: string;
  readonly summary: string;
  readonly required?: true;
  readonly repeated?: true;
  readonly choices?: readonly string[];
  /** Heading in the help; `Options` where absent. */
  readonly group?: string;
}

/** A positional argument of a command. */
interface ArgumentSpec {
  readonly name: string;
  readonly summary: string;
  readonly choices?: readonly string[];
  /** Only the last one may be left out. */
  readonly optional?: true;
}

/** What was typed. Asking for a flag or argument the command does not declare is a defect and throws. */
export interface Typed {
  argument(name: string): string;
  /** An argument that may be left out. */
  optionalArgument(name: string): string | undefined;
  /** The value of a flag, undefined where it was not given. */
  text(flag: `--${string}`): string | undefined;
  /** The value of a flag that the command declares as required. */
  required(flag: `--${string}`): string;
  isSet(flag: `--${string}`): boolean;
  list(flag: `--${string}`): readonly string[];
}

/** What every command is handed. */
export interface Call {
  readonly typed: Typed;
  readonly output: Output;
  readonly prompts: Prompts;
  readonly environment: NodeJS.ProcessEnv;
  /** `--config FILE`. */
  readonly configFile: string | undefined;
  /** Every command there is, for those that list them. */
  readonly roster: readonly Command[];
}

interface ConfiguredCall extends Call {
  readonly loaded: LoadedConfig;
}

interface DatabaseCall extends ConfiguredCall {
  readonly platform: Platform;
}

/** What a command is handed that works on the data of the installation. */
export interface ApplianceCall extends ConfiguredCall {
  readonly appliance: Appliance;
  /** In whose name changes are made; the audit log says so. */
  by(projectId: string | null): By;
}

interface CallOf {
  /** Nothing is read. */
  nothing: Call;
  /** The configuration is read and valid. */
  config: ConfiguredCall;
  /** The database is open; its schema may be of another version. */
  database: DatabaseCall;
  /** Everything is wired and the schema is this version's. */
  appliance: ApplianceCall;
}

/** What a command needs before it runs. */
export type Need = keyof CallOf;

interface CommandSpec<N extends Need> {
  /** The words after `svc`. */
  readonly path: string;
  readonly summary: string;
  readonly arguments?: readonly ArgumentSpec[];
  readonly options?: readonly OptionSpec[];
  /** At least two; they run, in the order of the roster, against a fresh installation. */
  readonly examples: readonly [string, string, ...string[]];
  readonly needs: N;
  /** Whether this call may create the database where there is none; without it, its absence looks like an empty one. */
  creates?(typed: Typed): boolean;
  /** Runs when its group is called without a verb. */
  readonly isDefault?: true;
  /** Nothing where the command has printed by itself. */
  run(call: CallOf[N]): Promise<Answer | undefined>;
}

/** A command as data. */
export type Command = { [N in Need]: CommandSpec<N> }[Need];

/** Declares a command, keeping the type of what it is handed. */
export function command<const N extends Need>(spec: CommandSpec<N>): CommandSpec<N> {
  return spec;
}

/** The flag that names a project. */
export const projectOption = { flag: '--project', value: 'ID', summary: 'the project', required: true } as const;

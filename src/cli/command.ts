import type { Appliance } from '#src/appliance.js';
import type { Features } from '#src/features/index.js';
import type { LoadedConfig } from '#src/platform/config/load.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { CommandResult } from './command-result.js';
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
  /** The noun whose ids completion offers. */
  readonly values?: string;
  /** Heading in the help; `Options` where absent. */
  readonly group?: string;
}

/** A positional argument of a command. */
interface ArgumentSpec {
  readonly name: string;
  readonly summary: string;
  readonly choices?: readonly string[];
  /** The noun whose ids completion offers. */
  readonly values?: string;
  /** Only the last one may be left out. */
  readonly optional?: true;
}

/** The parsed arguments and flags. Asking for a flag or argument the command does not declare is a defect and throws. */
export interface ParsedArgs {
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

/** The context that every command gets. */
export interface Call {
  readonly args: ParsedArgs;
  readonly output: Output;
  readonly prompts: Prompts;
  readonly environment: NodeJS.ProcessEnv;
  /** `--config FILE`. */
  readonly configFile: string | undefined;
  /** Every command there is, for those that list them. */
  readonly commands: readonly Command[];
}

interface ConfiguredCall extends Call {
  readonly loaded: LoadedConfig;
}

interface DatabaseCall extends ConfiguredCall {
  readonly runtime: Runtime;
}

/** The context of a command that works on the data of the installation. */
export interface ApplianceCall extends DatabaseCall {
  readonly appliance: Appliance;
  readonly features: Features;
  /** The audit context of changes by this command. */
  auditContext(projectId: string | null): AuditContext;
  /** Runs a unit of work in this audit context. */
  work<T>(projectId: string | null, body: (unit: Unit) => Promise<T>): Promise<T>;
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

/** What has to be opened before a command runs. */
export type Need = keyof CallOf;

interface CommandSpec<N extends Need> {
  /** The words after `svc`. */
  readonly path: string;
  readonly summary: string;
  readonly arguments?: readonly ArgumentSpec[];
  readonly options?: readonly OptionSpec[];
  /** At least two; they run, in the order of `svc commands`, against a fresh installation. */
  readonly examples: readonly [string, string, ...string[]];
  readonly needs: N;
  /** Whether this call may create the database where there is none; without it, its absence looks like an empty one. */
  creates?(args: ParsedArgs): boolean;
  /** Runs instead where the arguments ask for nothing of the installation, which may not be there; undefined where they do. */
  offline?(call: Call): Promise<CommandResult> | undefined;
  /** Runs when its group is called without a verb. */
  readonly isDefault?: true;
  /** Nothing where the command has printed by itself. */
  run(call: CallOf[N]): Promise<CommandResult | undefined>;
}

/** A command as data. */
export type Command = { [N in Need]: CommandSpec<N> }[Need];

/** Declares a command, keeping the type of what it is handed. */
export function command<const N extends Need>(spec: CommandSpec<N>): CommandSpec<N> {
  return spec;
}

/** The flag that names a project. */
export const projectOption = {
  flag: '--project',
  value: 'ID',
  summary: 'the project',
  required: true,
  values: 'project',
} as const;

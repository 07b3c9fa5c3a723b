import type { Appliance } from '#src/appliance.js';
import type { Project } from '#src/contract/project.js';
import type { Features } from '#src/features/index.js';
import type { LoadedConfig } from '#src/platform/config/load.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { CommandResult, Output } from '../terminal/output.js';
import type { Prompts } from '../terminal/prompts.js';

export type { CommandResult } from '../terminal/output.js';

/** A flag of a command. */
export interface OptionSpec {
  readonly flag: `--${string}`;
  /** Short form. */
  readonly short?: `-${string}`;
  /** Placeholder of the value in the help; absent for a switch. */
  readonly value?: string;
  readonly summary: string;
  readonly required?: true;
  /** A required flag that gets its value from the settings or the database if it is not given. */
  readonly assumed?: true;
  readonly repeated?: true;
  readonly choices?: readonly string[];
  /** Noun whose ids shell completion offers. */
  readonly values?: string;
  /** Heading in the help; defaults to `Options`. */
  readonly group?: string;
}

/** A positional argument of a command. */
interface ArgumentSpec {
  readonly name: string;
  readonly summary: string;
  readonly choices?: readonly string[];
  /** Noun whose ids shell completion offers. */
  readonly values?: string;
  /** Only the last argument can be optional. */
  readonly optional?: true;
}

/** The parsed arguments and flags. Reading a flag or argument that the command does not declare is a bug and throws. */
export interface ParsedArgs {
  argument(name: string): string;
  /** Returns an optional argument. */
  optionalArgument(name: string): string | undefined;
  /** Returns the value of a flag; undefined if not given. */
  text(flag: `--${string}`): string | undefined;
  /** Returns the value of a required flag. */
  required(flag: `--${string}`): string;
  isSet(flag: `--${string}`): boolean;
  /** True for a switch that is set and for a flag with a value. */
  isGiven(flag: `--${string}`): boolean;
  list(flag: `--${string}`): readonly string[];
  /** Sets a flag that was not given. */
  assume(flag: `--${string}`, value: string | undefined): void;
}

/** The context of every command. */
export interface CommandCall {
  readonly args: ParsedArgs;
  readonly output: Output;
  readonly prompts: Prompts;
  readonly environment: NodeJS.ProcessEnv;
  /** Value of `--config FILE`. */
  readonly configFile: string | undefined;
  /** All commands, for commands that list them. */
  readonly commands: readonly Command[];
}

interface ConfiguredCall extends CommandCall {
  readonly loaded: LoadedConfig;
}

interface DatabaseCall extends ConfiguredCall {
  readonly runtime: Runtime;
}

/** The context of a command that works on the data of the installation. */
export interface ApplianceCall extends DatabaseCall {
  readonly appliance: Appliance;
  readonly features: Features;
  /** Finds the project of `--project`. Throws Failure if there is none. */
  findProject(): Promise<Project>;
  /** Creates the audit context for changes by this command. */
  auditContext(projectId: string | null): AuditContext;
  /** Runs a unit of work with that audit context. */
  work<T>(projectId: string | null, body: (unit: Unit) => Promise<T>): Promise<T>;
}

interface CallOf {
  /** No configuration is read. */
  nothing: CommandCall;
  /** The configuration is read and valid. */
  config: ConfiguredCall;
  /** The database is open; its schema may have another version. */
  database: DatabaseCall;
  /** All features are ready, and the schema has the current version. */
  appliance: ApplianceCall;
}

/** Resources to open before a command runs. */
export type Need = keyof CallOf;

interface CommandText<N extends Need> {
  /** The words after `svc`. */
  readonly path: string;
  readonly summary: string;
  readonly arguments?: readonly ArgumentSpec[];
  readonly options?: readonly OptionSpec[];
  /** At least two. Tests run them against a fresh installation, in the order of `svc commands`. */
  readonly examples: readonly [string, string, ...string[]];
  /** True if this call may create a missing database. Otherwise a missing database is treated as empty. */
  creates?(args: ParsedArgs): boolean;
  /** True if the command works without the database too, such as when it is lost. */
  readonly worksWithoutDatabase?: true;
  /** Handles calls that do not need the installation, which may not exist. Returns undefined for all other calls. */
  offline?(call: CommandCall): Promise<CommandResult> | undefined;
  /** Runs if its group is called without a verb. */
  readonly isDefault?: true;
  /** Runs the command. Undefined if the command has already printed its output. */
  run(call: CallOf[N]): Promise<CommandResult | undefined>;
}

interface CommandSpec<N extends Need> extends CommandText<N> {
  readonly needs: N;
}

/** A command as data. */
export type Command = { [N in Need]: CommandSpec<N> }[Need];

/** Declares a command with the type of its context: what it `needs`, by default the data of the installation. */
export function command<const N extends Need = 'appliance'>(
  spec: CommandText<N> & { readonly needs?: N },
): CommandSpec<N> {
  return { ...spec, needs: spec.needs ?? ('appliance' as N) };
}

/** The flag that selects a project, in commands that work on one. */
export const projectOption = {
  flag: '--project',
  short: '-p',
  value: 'ID',
  summary: 'the project (default: SVC_PROJECT, or the only project)',
  required: true,
  assumed: true,
  values: 'project',
} as const;

/** A flag for a project in commands that also work without it. */
export const optionalProject = (summary: string) =>
  ({ flag: '--project', short: '-p', value: 'ID', summary, values: 'project' }) as const;

/** Declares a command on the data of the project that `--project` selects. */
export function projectCommand({ options = [], ...spec }: CommandText<'appliance'>) {
  return command({ ...spec, options: [projectOption, ...options] });
}

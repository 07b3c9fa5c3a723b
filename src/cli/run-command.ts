import { type Appliance, createAppliance } from '#src/appliance.js';
import type { LoadedConfig } from '#src/platform/config/load.js';
import type { Config } from '#src/platform/config/schema.js';
import { Secret } from '#src/platform/config/secret.js';
import { parseDatabaseUrl } from '#src/platform/db/index.js';
import type { SchemaStatus } from '#src/platform/db/migrations.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import { isAbsent } from '#src/platform/files.js';
import { createRuntime, type Replacements, type Runtime } from '#src/platform/index.js';
import type { ApplianceCall, Call, Command } from './command.js';
import type { CommandResult } from './command-result.js';
import { namingOwner } from './database-refusal.js';
import { prepareDirectories } from './directories.js';
import { CommandError } from './exit.js';
import { load, requireDatabase, requireNoLog, schemaError } from './installation.js';

/** Opens what a command needs, runs it, and closes everything again. */
export async function runCommand(command: Command, call: Call): Promise<CommandResult | undefined> {
  const offline = command.offline?.(call);
  if (offline !== undefined) return offline;
  switch (command.needs) {
    case 'nothing':
      return command.run(call);
    case 'config':
      return command.run({ ...call, loaded: load(call) });
    case 'database': {
      const loaded = load(call, { needsMasterKey: false });
      const creates = command.creates?.(call.args) ?? false;
      if (creates) prepareDirectories(loaded.config);
      return withRuntime(loaded, call, creates, (runtime) => command.run({ ...call, loaded, runtime }));
    }
    case 'appliance': {
      const loaded = load(call);
      return withAppliance(loaded, call, async (appliance) => {
        await requireUsable(appliance);
        const { runtime, features } = appliance;
        const auditContext = (projectId: string | null) => operatorContext(appliance, projectId);
        const work: ApplianceCall['work'] = (projectId, body) => runtime.db.work(auditContext(projectId), body);
        return command.run({ ...call, loaded, appliance, runtime, features, auditContext, work });
      });
    }
  }
}

/** Opens everything for as long as the body runs. */
async function withAppliance<T>(
  { config }: Pick<LoadedConfig, 'config'>,
  { output }: Pick<Call, 'output'>,
  body: (appliance: Appliance) => Promise<T>,
): Promise<T> {
  requireDatabase(config);
  try {
    const appliance = await createAppliance(forCommand(config, output), logOf(output));
    return await body(appliance).finally(() => appliance.close());
  } catch (error) {
    throw namingOwner(config, error);
  }
}

/** A database that does not exist yet is looked at as an empty one, so that looking creates nothing. */
async function withRuntime<T>(
  { config }: LoadedConfig,
  { output }: Call,
  creates: boolean,
  body: (runtime: Runtime) => Promise<T>,
): Promise<T> {
  requireNoLog(config);
  const { file } = parseDatabaseUrl(config.databaseUrl.reveal());
  const absent = file !== null && !creates && isAbsent(file);
  const databaseUrl = absent ? new Secret('sqlite::memory:') : config.databaseUrl;
  try {
    const runtime = await createRuntime({ ...forCommand(config, output), databaseUrl }, logOf(output));
    return await body(runtime).finally(() => runtime.close());
  } catch (error) {
    throw namingOwner(config, error);
  }
}

/** The error of a command says what the database refused, and with --json stderr holds nothing else; --verbose asks for more. */
function logOf({ json, verbose }: Call['output']): Replacements {
  if (verbose) return {};
  return json ? { writeLog: () => {} } : { silentDatabase: true };
}

/** The configuration of a command: it is no server, so its log is for trouble only. */
export function forCommand(config: Config, { verbose, quiet }: Call['output']): Config {
  return { ...config, logLevel: verbose ? 'debug' : quiet ? 'error' : 'warn', logFormat: config.logFormat ?? 'pretty' };
}

/** Throws where the schema is not this version's or the master key is not the database's. Exit 7. */
async function requireUsable(appliance: Appliance): Promise<void> {
  requireCurrentSchema(await appliance.runtime.migrator.status());
  await requireMasterKey(appliance);
}

/** Throws where steps of the schema are missing or unknown. */
export function requireCurrentSchema({ pending, unknown }: SchemaStatus): void {
  requireKnownSchema({ unknown });
  if (pending.length === 0) return;
  throw schemaError(`The database schema is too old. Pending: ${pending.join(', ')}.`, 'svc migrate');
}

/** Throws where a newer version has changed the schema. */
export function requireKnownSchema({ unknown }: Pick<SchemaStatus, 'unknown'>): void {
  if (unknown.length === 0) return;
  throw schemaError(
    `The database schema is newer than this version of svc. Unknown steps: ${unknown.join(', ')}.`,
    'install the version of svc that made it, or restore a backup; svc migrate status lists the steps',
  );
}

/** Throws where the database was set up with another master key. */
export async function requireMasterKey(appliance: Appliance): Promise<void> {
  const { runtime, features } = appliance;
  if (!(await features.projects.masterKeyFits(runtime.db, operatorContext(appliance, null)))) throw wrongMasterKey();
}

/** The database was set up with another master key. */
export function wrongMasterKey(): CommandError {
  return new CommandError(
    'unusable',
    'master_key_wrong',
    'This database was set up with another master key, so its secrets cannot be decrypted.',
    'bring back the svc.env of this database from your backup, or its SVC_MASTER_KEY; SVC_DATABASE_URL names another database',
  );
}

/** The audit context of the operator; all changes of one command share its request id. */
export function operatorContext({ runtime }: Pick<Appliance, 'runtime'>, projectId: string | null): AuditContext {
  return { projectId, actor: { kind: 'operator', id: 'cli' }, requestId: runtime.random.id() };
}

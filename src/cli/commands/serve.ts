import { setTimeout as sleep } from 'node:timers/promises';
import { isatty } from 'node:tty';
import { type Appliance, createAppliance } from '#src/appliance.js';
import { isReferenceOn } from '#src/features/index.js';
import type { Listener } from '#src/http/server.js';
import { ConfigError } from '#src/platform/config/config-error.js';
import { environmentBeside, type LoadedConfig } from '#src/platform/config/load.js';
import { isOnLocalhost } from '#src/platform/config/localhost.js';
import { type Config, settings } from '#src/platform/config/schema.js';
import { tlsFileProblems } from '#src/platform/config/tls-files.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import { retry } from '#src/platform/runtime/retry.js';
import { version } from '#src/platform/runtime/version.js';
import { namingOwner } from '../installation/database-refusal.js';
import { prepareDirectories } from '../installation/directories.js';
import { lostFilesDirectory } from '../installation/files-directory.js';
import { load, requireDatabase } from '../installation/installation.js';
import { otherPort, settingsOfOtherPort, settingsPlace } from '../installation/ports.js';
import {
  requireFinishedCopy,
  requireKnownSchema,
  requireMasterKey,
  requireUsableSchema,
} from '../installation/run-command.js';
import { logFileProblems } from '../installation/settings-problems.js';
import { type CommandCall, command, type ParsedArgs } from '../line/command.js';
import { valid, wholeNumber } from '../line/input.js';
import { inheritedSocket } from '../serving/inherited-socket.js';
import { localUrl } from '../serving/local-url.js';
import { writePidFile } from '../serving/pid-file.js';
import { listenerOn } from '../serving/port-listener.js';
import { type LiveConfig, reload } from '../serving/reload.js';
import { type HeldSignals, holdSignals, serveUntilSignal } from '../serving/serving.js';
import { reportStart } from '../serving/start-report.js';
import { type CommandError, failedError, unusableError } from '../terminal/exit.js';
import { Lines } from '../terminal/lines.js';
import { backupBeforeSteps } from './backup-before.js';

const pollMs = 500;

/** `svc serve` */
export const serveCommand = command({
  path: 'serve',
  summary:
    'Runs the server and prints its URL when ready. The first SIGTERM lets running requests finish; a second one stops the server at once',
  options: [
    { flag: '--host', value: 'ADDRESS', summary: 'address to listen on', group: 'Address' },
    { flag: '--port', value: 'PORT', summary: 'port to listen on; 0 takes a free one', group: 'Address' },
    {
      flag: '--migrate',
      value: 'MODE',
      summary: 'schema at the start: auto migrates it, check refuses an old one (default), off does not check',
      choices: ['auto', 'check', 'off'],
      group: 'Database',
    },
    { flag: '--wait-for-db', value: 'SECONDS', summary: 'maximum time to wait for the database', group: 'Database' },
    { flag: '--pidfile', value: 'FILE', summary: 'file that holds the process id', group: 'Process' },
  ],
  examples: ['svc serve', 'svc serve --port 0 --migrate auto --wait-for-db 30'],
  needs: 'nothing',
  run: async (call) => {
    const { args, output } = call;
    ignoreEarlyReload();
    const flags = flagsOf(args);
    const loaded = load(call, { flags, serves: true });
    const environment = environmentBeside({ environment: call.environment, file: call.configFile });
    const live: LiveConfig = { ...loaded.config };
    const mode = args.text('--migrate') ?? 'check';
    const socket = inheritedSocket(call.environment);
    const problems = [...tlsFileProblems(loaded.config), ...logFileProblems(loaded.config)];
    if (problems.length > 0) throw new ConfigError(problems);
    if (mode === 'auto') prepareDirectories(loaded.config);
    else requireDatabase(loaded.config);
    const waitSeconds = wholeNumber(args, '--wait-for-db', 0, 86_400);
    const appliance = await open(live, waitSeconds, call.environment).catch((error) => {
      throw namingOwner(loaded.config, error);
    });
    let listener: Listener;
    let held: HeldSignals | undefined;
    try {
      await prepare(appliance, call, mode);
      await reportStart(appliance, loaded);
      held = holdSignals();
      listener = await listen(appliance, loaded, socket);
    } catch (error) {
      held?.release();
      await appliance.close();
      throw namingOwner(loaded.config, error);
    }
    const read = () => load({ ...call, environment }, { flags, serves: true });
    serveUntilSignal(appliance, listener, {
      pidfile: loaded.config.pidfile,
      drainSeconds: loaded.config.drainSeconds,
      reload: () => reload({ appliance, listener, live, read }),
    });
    held.release();
    try {
      // Written last, so that signals work as soon as the file exists.
      if (loaded.config.pidfile !== undefined) writePidFile(loaded.config.pidfile);
    } catch (error) {
      await listener.drain();
      await appliance.close();
      throw error;
    }
    const url = localUrl(loaded.config, listener.port);
    appliance.runtime.log.info('serve.ready', { url });
    const { host, baseUrl } = loaded.config;
    output.result({
      value: { url, baseUrl, host, port: listener.port, pid: process.pid, version: version() },
      text: Lines.of([`svc is ready: ${url}`, ...(await developerPages(appliance, url))]),
    });
    return undefined;
  },
});

/** The addresses of the pages for developers of a project, while the service runs on localhost. */
async function developerPages({ runtime, features }: Appliance, url: string): Promise<string[]> {
  if (!isOnLocalhost(runtime.config.baseUrl)) return [];
  const projects = await features.projects.list(runtime.db);
  const shown = projects.find(({ settings }) => isReferenceOn(settings, runtime.config));
  return shown === undefined
    ? []
    : [`API reference: ${url}/docs?project=${shown.id}`, `GraphQL: ${url}/graphql?project=${shown.id}`];
}

/** A reload before the server is ready has nothing to do, as it reads the settings now. Without a handler, the signal would end the process. */
function ignoreEarlyReload(): void {
  if ([0, 1, 2].every((descriptor) => !isatty(descriptor))) process.on('SIGHUP', () => {});
}

function flagsOf(args: ParsedArgs): Record<string, string | undefined> {
  const flags = {
    [settings.host.key]: args.text('--host'),
    [settings.port.key]: args.text('--port'),
    [settings.pidfile.key]: args.text('--pidfile'),
    [settings.logLevel.key]: args.isSet('--verbose') ? 'debug' : args.isSet('--quiet') ? 'warn' : undefined,
  };
  for (const [flag, { key, schema }] of [
    ['--host', settings.host],
    ['--port', settings.port],
  ] as const) {
    if (flags[key] !== undefined) valid(schema, flag, flags[key]);
  }
  return flags;
}

/** Opens the service and waits until the database answers. */
async function open(
  config: Config,
  waitSeconds: number,
  tracingEnvironment: CommandCall['environment'],
): Promise<Appliance> {
  const until = performance.now() + waitSeconds * 1000;
  const appliance = await createAppliance(config, { tracingEnvironment });
  await retry(
    () => appliance.runtime.driver.ping(),
    async (error) => {
      const isAwaited = error instanceof DatabaseError && performance.now() <= until;
      await (isAwaited ? sleep(pollMs) : appliance.close());
      return isAwaited;
    },
  );
  return appliance;
}

/** Checks the database file, the schema and the master key. */
async function prepare(appliance: Appliance, { output }: Pick<CommandCall, 'output'>, mode: string): Promise<void> {
  const { migrator, driver, log } = appliance.runtime;
  // Checked first: a damaged file may appear to have no schema, and must not be migrated.
  if (!(await driver.isSound())) {
    throw unusableError('database_damaged', 'The SQLite file is damaged.', 'restore it from a backup');
  }
  const schema = await migrator.status();
  requireFinishedCopy(schema);
  if (mode !== 'off') {
    requireKnownSchema({ unknown: schema.unusable });
    if (mode === 'auto') {
      const backup = await backupBeforeSteps(appliance.runtime, output);
      if (backup !== undefined) log.info('schema.backup', { file: backup, next: `svc backup restore ${backup}` });
      const applied = await migrator.up();
      if (applied.length > 0) log.info('schema.migrated', { steps: applied.join(',') });
    } else requireUsableSchema(schema);
    await requireFilesDirectory(appliance);
  }
  await requireMasterKey(appliance);
}

/**
 * A server without the directory, or with the empty one below a missing mount, would store new files elsewhere. Throws CommandError if the
 * database knows files.
 */
async function requireFilesDirectory({ runtime, features }: Appliance): Promise<void> {
  const lost = lostFilesDirectory(runtime.config);
  if (lost === undefined || (await features.checkFiles(1)).missing.length === 0) return;
  const fix = `${lost.fix}; if the files are lost, create the directory with any file in it`;
  throw unusableError('file_store_unusable', lost.message, fix);
}

async function listen(appliance: Appliance, loaded: LoadedConfig, socket: number | undefined): Promise<Listener> {
  const { config } = loaded;
  try {
    return await appliance.serve(socket);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    const address = `${config.host} port ${config.port}`;
    if (code === 'EADDRINUSE') throw await addressInUse(loaded, address);
    if (['ENOTFOUND', 'EAI_AGAIN'].includes(code))
      throw addressUnusable(loaded, 'host', `the name ${config.host} is unknown (${code})`);
    if (code === 'EADDRNOTAVAIL')
      throw addressUnusable(loaded, 'host', `this machine does not have the address ${config.host} (${code})`);
    if (code === 'EACCES') throw addressUnusable(loaded, 'port', `this process may not listen on ${address} (${code})`);
    throw error;
  }
}

const usable = { host: 'an address of this machine, such as 127.0.0.1', port: 'a port from 1024 on' } as const;

/** Error for an unusable address or port, naming the flag or the setting. */
function addressUnusable(loaded: LoadedConfig, setting: 'host' | 'port', problem: string): CommandError {
  const isFlag = loaded.origins[setting] === 'flag';
  const name = isFlag ? `--${setting}` : settings[setting].key;
  const fix = isFlag
    ? `give ${name} ${usable[setting]}`
    : `set ${name} in ${settingsPlace(loaded, setting)} to ${usable[setting]}`;
  return unusableError('configuration_invalid', `${name}: ${problem}.`, fix);
}

/** Error for a port in use. Usually this server is already running, but another svc does not reveal which data it serves. */
async function addressInUse(loaded: LoadedConfig, address: string): Promise<CommandError> {
  if ((await listenerOn(loaded.config)) !== 'svc')
    return failedError('address_in_use', `Another process listens on ${address}.`, await otherPort(loaded));
  const change = await settingsOfOtherPort(loaded);
  const second = change === undefined ? '' : `; for a second installation, ${change}`;
  const fix = `nothing, if it is the server of this installation${second}`;
  return failedError('address_in_use', `svc is running already on ${address}.`, fix);
}

import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Appliance, createAppliance } from '#src/appliance.js';
import { basePath } from '#src/http/mount.js';
import type { Listener } from '#src/http/server.js';
import { ConfigError, type LoadedConfig } from '#src/platform/config/load.js';
import { type Config, settings } from '#src/platform/config/schema.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import { command, type Typed } from '../command.js';
import { CommandError } from '../exit.js';
import { valid, wholeNumber } from '../input.js';
import { demandCurrent, demandDatabase, demandKnown, demandMasterKey, load, prepareDirectories } from '../opening.js';
import { serveUntilSignal } from '../serving.js';
import { reportStart } from '../start-report.js';
import { version } from '../version.js';

const pollMs = 500;
/** When a started server loads what it did not need in order to be ready. */
const settledMs = 500;

/** `svc serve` */
export const serveCommand = command({
  path: 'serve',
  summary: 'Runs the server; prints one line with the URL when it is ready. TERM drains, a second TERM ends it at once',
  options: [
    { flag: '--host', value: 'ADDRESS', summary: 'address to listen on', group: 'Address' },
    { flag: '--port', value: 'PORT', summary: 'port to listen on; 0 takes a free one', group: 'Address' },
    {
      flag: '--migrate',
      value: 'MODE',
      summary: 'schema: auto brings it up to date, check refuses an old one (default), off does not look',
      choices: ['auto', 'check', 'off'],
      group: 'Database',
    },
    { flag: '--wait-for-db', value: 'SECONDS', summary: 'wait this long for the database', group: 'Database' },
    { flag: '--pidfile', value: 'FILE', summary: 'holds the process id while the server runs', group: 'Process' },
  ],
  examples: ['svc serve', 'svc serve --port 0 --migrate auto --wait-for-db 30'],
  needs: 'nothing',
  run: async (call) => {
    const { typed, output } = call;
    const loaded = load(call, { flags: flagsOf(typed) });
    const mode = typed.text('--migrate') ?? 'check';
    if (mode === 'auto') prepareDirectories(loaded.config);
    else demandDatabase(loaded.config);
    const appliance = await open(loaded.config, wholeNumber(typed, '--wait-for-db', 0, 86_400));
    let listener: Listener;
    try {
      await prepare(appliance, mode);
      await reportStart(appliance);
      listener = await listen(appliance, loaded);
    } catch (error) {
      await appliance.close();
      throw error;
    }
    serveUntilSignal(appliance, listener, loaded.config.pidfile);
    try {
      notePid(loaded.config);
    } catch (error) {
      await listener.drain();
      await appliance.close();
      throw error;
    }
    const url = localUrl(loaded.config, listener.port);
    appliance.platform.log.info('serve.ready', { url });
    const { host, baseUrl } = loaded.config;
    output.answer({
      value: { url, baseUrl, host, port: listener.port, pid: process.pid, version: version() },
      text: `svc is ready: ${url}`,
    });
    setTimeout(() => appliance.platform.sql.loadKnex(), settledMs).unref();
    return undefined;
  },
});

function flagsOf(typed: Typed): Record<string, string | undefined> {
  const flags = {
    [settings.host.key]: typed.text('--host'),
    [settings.port.key]: typed.text('--port'),
    [settings.pidfile.key]: typed.text('--pidfile'),
    [settings.logLevel.key]: typed.isSet('--verbose') ? 'debug' : typed.isSet('--quiet') ? 'warn' : undefined,
  };
  for (const [flag, { key, schema }] of [
    ['--host', settings.host],
    ['--port', settings.port],
  ] as const) {
    if (flags[key] !== undefined) valid(schema, flag, flags[key]);
  }
  return flags;
}

/** Opens everything and waits until the database answers. */
async function open(config: Config, waitSeconds: number): Promise<Appliance> {
  const until = performance.now() + waitSeconds * 1000;
  const appliance = await createAppliance(config);
  for (;;) {
    try {
      await appliance.platform.driver.ping();
      return appliance;
    } catch (error) {
      if (!(error instanceof DatabaseError) || performance.now() > until) {
        await appliance.close();
        throw error;
      }
      await sleep(pollMs);
    }
  }
}

/** Looks at what the data is in: its schema, its key, its file. */
async function prepare(appliance: Appliance, mode: string): Promise<void> {
  const { migrator, driver, log } = appliance.platform;
  if (mode !== 'off') {
    const schema = await migrator.status();
    demandKnown(schema);
    if (mode === 'auto') {
      const applied = await migrator.up();
      if (applied.length > 0) log.info('schema.migrated', { steps: applied.join(',') });
    } else demandCurrent(schema);
  }
  await demandMasterKey(appliance);
  if (await driver.isSound()) return;
  throw new CommandError('unusable', 'database_damaged', 'The SQLite file is damaged.', 'restore it from a backup');
}

async function listen(appliance: Appliance, { config }: LoadedConfig): Promise<Listener> {
  try {
    return await appliance.serve();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    const address = `${config.host} port ${config.port}`;
    if (code === 'EADDRINUSE')
      throw new CommandError(
        'failed',
        'address_in_use',
        `Another process listens on ${address}.`,
        'svc serve --port 0',
      );
    if (code === 'EACCES' || code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
      throw new ConfigError([`SVC_HOST and SVC_PORT: this process may not listen on ${address} (${code})`]);
    if (config.tlsCert !== undefined) throw new ConfigError([`SVC_TLS_CERT and SVC_TLS_KEY cannot be used (${code})`]);
    throw error;
  }
}

/** Written when everything is ready, so that whoever sees it may send signals. */
function notePid({ pidfile }: Config): void {
  try {
    if (pidfile !== undefined) writeFileSync(pidfile, `${process.pid}\n`);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new ConfigError([`SVC_PIDFILE names a file that cannot be written (${code}): ${pidfile}`]);
  }
}

/** The address on this machine; behind a proxy the public one is SVC_BASE_URL. */
function localUrl({ host, tlsCert }: Config, port: number): string {
  const isEverywhere = ['127.0.0.1', '0.0.0.0', '::', '::1'].includes(host);
  const name = isEverywhere ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `${tlsCert === undefined ? 'http' : 'https'}://${name}:${port}${basePath}`;
}

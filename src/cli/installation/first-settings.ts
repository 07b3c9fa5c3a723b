import { resolve } from 'node:path';
import { loadConfig } from '#src/platform/config/load.js';
import { isOnLocalhost } from '#src/platform/config/localhost.js';
import { type Setting, settings } from '#src/platform/config/schema.js';
import { createRandom } from '#src/platform/crypto/random.js';
import { parseDatabaseUrl } from '#src/platform/db/index.js';
import { systemClock } from '#src/platform/runtime/clock.js';
import type { CommandCall } from '../line/command.js';
import { gotten, readStdin, valid } from '../line/input.js';
import { type CommandError, explain, failedError, unusableError, usageError } from '../terminal/exit.js';
import { refusalOf } from './database-refusal.js';
import { holdsPassword, maskUrl } from './database-url.js';
import { directoryProblem } from './directories.js';
import { firstFreePort, isPortFree } from './ports.js';

/**
 * Chooses the values for a new configuration file, by environment name. Flags take precedence, then the environment, then answers, then
 * defaults.
 */
export async function chooseSettings(call: CommandCall): Promise<Record<string, string>> {
  requireFixedPort(call);
  const dataDir = resolve(await chooseDataDir(call));
  const database = await chooseDatabase(call, dataDir);
  const host = call.environment.SVC_HOST || settings.host.fallback;
  const port = await choosePort(call, host);
  const local = `http://localhost:${port}/v1`;
  const baseUrl = await choose(call, '--base-url', settings.baseUrl, 'Public address of the API', local);
  return {
    SVC_DATA_DIR: dataDir,
    ...database,
    ...(isInEnvironment(call, settings.masterKey)
      ? {}
      : { SVC_MASTER_KEY: createRandom(systemClock).bytes(32).toString('base64url') }),
    SVC_BASE_URL: baseUrl ?? local,
    ...(await chooseTokensInResponse(call, baseUrl ?? local)),
    SVC_PORT: port,
    ...(host === settings.host.fallback ? {} : { SVC_HOST: host }),
  };
}

/** Chooses a directory that is writable or can be created. */
async function chooseDataDir(call: CommandCall): Promise<string> {
  const fallback = './svc-data';
  const problem = (answer: string) => directoryProblem(resolve(answer));
  const directory =
    (await choose(call, '--data-dir', settings.dataDir, 'Directory of all data', fallback, problem)) ?? fallback;
  const found = problem(directory);
  if (found === undefined) return directory;
  throw unusableError('directory_unusable', `${found}.`, 'name another directory by --data-dir');
}

/** Chooses the port by flag, environment or answer; otherwise the default port or the next free one. */
async function choosePort(call: CommandCall, host: string): Promise<string> {
  const wanted = Number(settings.port.fallback);
  const isGiven = call.args.text('--port') !== undefined || isInEnvironment(call, settings.port);
  const free = isGiven ? undefined : await firstFreePort(host, wanted);
  const initial = String(free ?? wanted);
  const taken = (port: string) => `Another process listens on ${host} port ${port}`;
  const port = await choose(call, '--port', settings.port, 'Port to listen on', initial, async (answer) => {
    if (Number(answer) === 0) return noFixedPort;
    if (await isPortFree(host, Number(answer))) return undefined;
    const next = await firstFreePort(host, Number(answer));
    return next === undefined ? taken(answer) : `${taken(answer)}; ${next} is free`;
  });
  if (port === undefined && free !== undefined && free !== wanted)
    call.output.note(`${taken(String(wanted))}; the server will listen on ${free}.`);
  // An invalid port in the environment is reported with the other settings.
  if (isGiven && settings.port.schema.safeParse(port).success && !(await isPortFree(host, Number(port))))
    throw await portTaken(call, host, Number(port), taken(String(port)));
  return port ?? initial;
}

/** Error for a port that is in use. */
async function portTaken({ args }: CommandCall, host: string, port: number, message: string): Promise<CommandError> {
  const next = await firstFreePort(host, port);
  const change = args.text('--port') === undefined ? `set ${settings.port.key}=` : 'choose another port: --port ';
  const fix = next === undefined ? 'end that process' : `${change}${next}, or end that process`;
  return failedError('address_in_use', `${message}.`, fix);
}

const noFixedPort = 'must be from 1 to 65535: 0 takes another port at each start, and the address of the API names one';

/** Throws for port 0, which only `svc serve --port 0` accepts. */
function requireFixedPort({ args }: CommandCall): void {
  const port = args.text('--port');
  if (port !== undefined && Number(port) === 0) throw usageError(`--port ${noFixedPort}.`);
  if (Number(port) > 65_535) throw usageError(`--port must be from 1 to 65535${gotten(port)}.`);
}

/** Asks for SVC_TOKENS_IN_RESPONSE if it matters: not on localhost, and without a mail server. */
async function chooseTokensInResponse(call: CommandCall, baseUrl: string): Promise<Record<string, string>> {
  const flag = '--tokens-in-response';
  const matters = !isOnLocalhost(baseUrl) && !isInEnvironment(call, settings.smtpUrl);
  if (call.args.text(flag) === undefined && (!matters || isInEnvironment(call, settings.tokensInResponse))) return {};
  const message =
    'While no mail is configured, who gets the secrets of verification and recovery in responses: auto (server keys only, for this address), any (anyone who knows an address can take over the account), key (server keys) or never';
  const chosen = await choose(call, flag, settings.tokensInResponse, message, 'auto');
  return chosen === undefined || chosen === 'auto' ? {} : { SVC_TOKENS_IN_RESPONSE: chosen };
}

/** Reads a value from flag, environment or answer; undefined if none provides it. */
async function choose(
  { args, environment, prompts }: CommandCall,
  flag: `--${string}`,
  { key, schema }: Setting,
  message: string,
  initial: string,
  problemOf?: (answer: string) => string | undefined | Promise<string | undefined>,
): Promise<string | undefined> {
  const fromFlag = args.text(flag);
  if (fromFlag !== undefined) {
    valid(schema, flag, fromFlag);
    return fromFlag;
  }
  if (environment[key]) return environment[key];
  if (!prompts.possible || args.isSet('--yes')) return undefined;
  const problem = async (answer: string) =>
    schema.safeParse(answer).error?.issues[0]?.message ?? (await problemOf?.(answer));
  return prompts.ask({ message, initial, problem });
}

/** Chooses the database. A URL with a password in the environment is not copied to the file; a URL without one is. */
async function chooseDatabase(call: CommandCall, dataDir: string): Promise<Record<string, string>> {
  const { args, environment, output } = call;
  const fallback = `sqlite:${resolve(dataDir, 'svc.db')}`;
  const isDash = args.text('--database') === '-';
  if (args.text('--database') === undefined && isInEnvironment(call, settings.databaseUrl)) {
    const url = environment.SVC_DATABASE_URL;
    if (url === undefined || holdsPassword(url)) {
      output.note('SVC_DATABASE_URL holds a password and is not copied to the file. Keep it set in the environment.');
      return {};
    }
  }
  const isAsked = args.text('--database') === undefined && !isInEnvironment(call, settings.databaseUrl);
  const url = isDash
    ? await readDatabaseUrl()
    : await (isAsked ? askDatabase(call, fallback) : databaseUrl(call, fallback));
  if (url === undefined || url === fallback) return {};
  const { file } = parseDatabaseUrl(url);
  return { SVC_DATABASE_URL: file === null ? url : `sqlite:${resolve(file)}` };
}

/** Reads a database URL from flag, environment or answer. */
function databaseUrl(call: CommandCall, initial: string): Promise<string | undefined> {
  const message = 'Database: sqlite:FILE or postgres://USER@HOST/NAME';
  return choose(call, '--database', settings.databaseUrl, message, initial, (answer) =>
    holdsPassword(answer) ? 'Leave the password out; it is asked for next, without being shown' : undefined,
  );
}

/** Asks for the database. Tries a server immediately and asks again if it refuses, with the previous answer as default. */
async function askDatabase(call: CommandCall, fallback: string): Promise<string | undefined> {
  for (let initial = fallback; ; ) {
    const url = await databaseUrl(call, initial);
    if (url === undefined || parseDatabaseUrl(url).file !== null) return url;
    const full = canHoldPassword(url) ? await withPassword(call, url) : url;
    const flags = { [settings.databaseUrl.key]: full };
    const { config } = loadConfig({ environment: call.environment, needsMasterKey: false, flags });
    const refusal = await refusalOf(config);
    if (refusal === undefined) return full;
    call.output.note(`${maskUrl(full)}: ${explain(refusal).message}`);
    initial = url;
  }
}

async function readDatabaseUrl(): Promise<string> {
  const url = await readStdin('--database -');
  valid(settings.databaseUrl.schema, '--database', url);
  return url;
}

/** URLs of Postgres sockets cannot contain a password. */
function canHoldPassword(url: string): boolean {
  return parseDatabaseUrl(url).file === null && URL.canParse(url) && new URL(url).hostname !== '';
}

/** Asks for the password and adds it to the URL. An empty answer leaves the URL unchanged, for trusted hosts. */
async function withPassword({ prompts }: CommandCall, url: string): Promise<string> {
  const password = await prompts.askSecret('Password of the database (leave empty for none)', '--database -');
  if (password === '') return url;
  const full = new URL(url);
  full.password = encodeURIComponent(password);
  return full.href;
}

function isInEnvironment({ environment }: CommandCall, { key }: Setting): boolean {
  return Boolean(environment[key] || environment[`${key}_FILE`]);
}

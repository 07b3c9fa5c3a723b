import { resolve } from 'node:path';
import { systemClock } from '#src/platform/clock.js';
import { loadConfig } from '#src/platform/config/load.js';
import { isOnLocalhost } from '#src/platform/config/localhost.js';
import { type Setting, settings } from '#src/platform/config/schema.js';
import { parseDatabaseUrl } from '#src/platform/db/index.js';
import { createRandom } from '#src/platform/random.js';
import type { Call } from './command.js';
import { refusalOf } from './database-refusal.js';
import { maskUrl } from './database-url.js';
import { directoryProblem } from './directories.js';
import { CommandError, explain, usageError } from './exit.js';
import { gotten, readStdin, valid } from './input.js';
import { firstFreePort, isPortFree } from './ports.js';

/** The values of a new configuration file, by environment name: flags first, then the environment, then answers, then defaults. */
export async function chooseSettings(call: Call): Promise<Record<string, string>> {
  demandFixedPort(call);
  const dataDir = resolve(await chooseDataDir(call));
  const database = await chooseDatabase(call, dataDir);
  const host = call.environment.SVC_HOST || settings.host.fallback;
  const port = await choosePort(call, host);
  const local = `http://localhost:${port}/v1`;
  const baseUrl = await choose(call, '--base-url', settings.baseUrl, 'Public address of the API', local);
  return {
    SVC_DATA_DIR: dataDir,
    ...database,
    ...(isInEnvironment(call, settings.masterKey) ? {} : { SVC_MASTER_KEY: newMasterKey() }),
    SVC_BASE_URL: baseUrl ?? local,
    ...(await chooseTokensInResponse(call, baseUrl ?? local)),
    SVC_PORT: port,
    ...(host === settings.host.fallback ? {} : { SVC_HOST: host }),
  };
}

/** A directory that can be created, or written to where it exists. */
async function chooseDataDir(call: Call): Promise<string> {
  const fallback = './svc-data';
  const problem = (answer: string) => directoryProblem(resolve(answer));
  const directory =
    (await choose(call, '--data-dir', settings.dataDir, 'Directory of all data', fallback, problem)) ?? fallback;
  const found = problem(directory);
  if (found === undefined) return directory;
  throw new CommandError('unusable', 'directory_unusable', `${found}.`, 'name another directory by --data-dir');
}

/** The port by flag, environment or answer; without them the default one, or the next that is free. */
async function choosePort(call: Call, host: string): Promise<string> {
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
  // One of the environment that is no port is told with the other settings.
  if (isGiven && settings.port.schema.safeParse(port).success && !(await isPortFree(host, Number(port))))
    throw await portTaken(call, host, Number(port), taken(String(port)));
  return port ?? initial;
}

/** The server could not start on a port that is taken. */
async function portTaken({ args }: Call, host: string, port: number, message: string): Promise<CommandError> {
  const next = await firstFreePort(host, port);
  const change = args.text('--port') === undefined ? `set ${settings.port.key}=` : 'choose another port: --port ';
  const fix = next === undefined ? 'end that process' : `${change}${next}, or end that process`;
  return new CommandError('failed', 'address_in_use', `${message}.`, fix);
}

const noFixedPort = 'must be from 1 to 65535: 0 takes another port at each start, and the address of the API names one';

/** Throws for the port 0, which `svc serve --port 0` takes. */
function demandFixedPort({ args }: Call): void {
  const port = args.text('--port');
  if (port !== undefined && Number(port) === 0) throw usageError(`--port ${noFixedPort}.`);
  if (Number(port) > 65_535) throw usageError(`--port must be from 1 to 65535${gotten(port)}.`);
}

/** Asks for SVC_TOKENS_IN_RESPONSE where it matters: away from localhost, without a mail server. */
async function chooseTokensInResponse(call: Call, baseUrl: string): Promise<Record<string, string>> {
  const flag = '--tokens-in-response';
  const matters = !isOnLocalhost(baseUrl) && !isInEnvironment(call, settings.smtpUrl);
  if (call.args.text(flag) === undefined && (!matters || isInEnvironment(call, settings.tokensInResponse))) return {};
  const message =
    'While no mail is configured, who gets the secrets of verification and recovery in responses: auto (server keys only, for this address), any (anyone who knows an address can take over the account), key (server keys) or never';
  const chosen = await choose(call, flag, settings.tokensInResponse, message, 'auto');
  return chosen === undefined || chosen === 'auto' ? {} : { SVC_TOKENS_IN_RESPONSE: chosen };
}

/** A value by flag, environment or answer; undefined where none of them gives one. */
async function choose(
  { args, environment, prompts }: Call,
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

/** Secrets that the environment holds stay there; a URL without one is written down. */
async function chooseDatabase(call: Call, dataDir: string): Promise<Record<string, string>> {
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

/** A database by flag, environment or answer. */
function databaseUrl(call: Call, initial: string): Promise<string | undefined> {
  const message = 'Database: sqlite:FILE or postgres://USER@HOST/NAME';
  return choose(call, '--database', settings.databaseUrl, message, initial, (answer) =>
    holdsPassword(answer) ? 'Leave the password out; it is asked for next, without being shown' : undefined,
  );
}

/** The database by answer. A server is tried at once and asked for again while it refuses: nothing has to be typed twice. */
async function askDatabase(call: Call, fallback: string): Promise<string | undefined> {
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

/** Postgres by a socket takes none in its URL. */
function canHoldPassword(url: string): boolean {
  return parseDatabaseUrl(url).file === null && URL.canParse(url) && new URL(url).hostname !== '';
}

/** The URL with the password that is asked for; without one where the answer is empty, as for trusted hosts. */
async function withPassword({ prompts }: Call, url: string): Promise<string> {
  const password = await prompts.askSecret('Password of the database (leave empty for none)', '--database -');
  if (password === '') return url;
  const full = new URL(url);
  full.password = encodeURIComponent(password);
  return full.href;
}

function holdsPassword(url: string): boolean {
  return /:\/\/[^/?#]*:.*@|[?&](?:ssl)?password=/i.test(url);
}

function isInEnvironment({ environment }: Call, { key }: Setting): boolean {
  return Boolean(environment[key] || environment[`${key}_FILE`]);
}

function newMasterKey(): string {
  return createRandom(systemClock).bytes(32).toString('base64url');
}

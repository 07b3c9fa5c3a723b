import { resolve } from 'node:path';
import { systemClock } from '#src/platform/clock.js';
import { isOnLocalhost } from '#src/platform/config/localhost.js';
import { type Setting, settings } from '#src/platform/config/schema.js';
import { parseDatabaseUrl } from '#src/platform/db/index.js';
import { createRandom } from '#src/platform/random.js';
import type { Call } from './command.js';
import { readStdin, valid } from './input.js';

/** The values of a new configuration file, by environment name: flags first, then the environment, then answers, then defaults. */
export async function chooseSettings(call: Call): Promise<Record<string, string>> {
  const dataDir = resolve(
    (await choose(call, '--data-dir', settings.dataDir, 'Directory of all data', './svc-data')) ?? './svc-data',
  );
  const database = await chooseDatabase(call, dataDir);
  const port = (await choose(call, '--port', settings.port, 'Port to listen on', '8080')) ?? '8080';
  const local = `http://localhost:${port}/v1`;
  const baseUrl = await choose(call, '--base-url', settings.baseUrl, 'Public address of the API', local);
  const host = call.environment.SVC_HOST;
  return {
    SVC_DATA_DIR: dataDir,
    ...database,
    ...(isInEnvironment(call, settings.masterKey) ? {} : { SVC_MASTER_KEY: newMasterKey() }),
    SVC_BASE_URL: baseUrl ?? local,
    ...(await chooseTokensInResponse(call, baseUrl ?? local)),
    SVC_PORT: port,
    ...(host === undefined || host === '' ? {} : { SVC_HOST: host }),
  };
}

/** Asks for SVC_TOKENS_IN_RESPONSE where it matters: away from localhost, without a mail server. */
async function chooseTokensInResponse(call: Call, baseUrl: string): Promise<Record<string, string>> {
  const flag = '--tokens-in-response';
  const matters = !isOnLocalhost(baseUrl) && !isInEnvironment(call, settings.smtpUrl);
  if (call.args.text(flag) === undefined && (!matters || isInEnvironment(call, settings.tokensInResponse))) return {};
  const message =
    'While no mail is configured, who gets the secrets of verification and recovery in responses: auto, any (anyone who knows an address can take over the account), key or never';
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
): Promise<string | undefined> {
  const fromFlag = args.text(flag);
  if (fromFlag !== undefined) {
    valid(schema, flag, fromFlag);
    return fromFlag;
  }
  if (environment[key]) return environment[key];
  if (!prompts.possible || args.isSet('--yes')) return undefined;
  const problem = (answer: string) => schema.safeParse(answer).error?.issues[0]?.message;
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
  const url = isDash
    ? await readDatabaseUrl()
    : await choose(call, '--database', settings.databaseUrl, 'Database (sqlite:FILE or postgres://…)', fallback);
  if (url === undefined || url === fallback) return {};
  const { file } = parseDatabaseUrl(url);
  return { SVC_DATABASE_URL: file === null ? url : `sqlite:${resolve(file)}` };
}

async function readDatabaseUrl(): Promise<string> {
  const url = await readStdin();
  valid(settings.databaseUrl.schema, '--database', url);
  return url;
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

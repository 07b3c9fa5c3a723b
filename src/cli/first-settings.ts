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
    ...(await chooseDisclosure(call, baseUrl ?? local)),
    SVC_PORT: port,
    ...(host === undefined || host === '' ? {} : { SVC_HOST: host }),
  };
}

/** Away from localhost somebody has to know who is answered the secrets that no mail carries; where nobody says, the default holds. */
async function chooseDisclosure(call: Call, baseUrl: string): Promise<Record<string, string>> {
  const flag = '--tokens-in-response';
  const matters = !isOnLocalhost(baseUrl) && !isInEnvironment(call, settings.smtpUrl);
  if (call.typed.text(flag) === undefined && (!matters || isInEnvironment(call, settings.tokensInResponse))) return {};
  const message =
    'Without mail, who is answered the secrets of verification and recovery: auto, any (whoever knows an address can take the account over), key or never';
  const chosen = await choose(call, flag, settings.tokensInResponse, message, 'auto');
  return chosen === undefined || chosen === 'auto' ? {} : { SVC_TOKENS_IN_RESPONSE: chosen };
}

/** A value by flag, environment or answer; undefined where none of them gives one. */
async function choose(
  { typed, environment, prompts }: Call,
  flag: `--${string}`,
  { key, schema }: Setting,
  message: string,
  initial: string,
): Promise<string | undefined> {
  const given = typed.text(flag);
  if (given !== undefined) {
    valid(schema, flag, given);
    return given;
  }
  if (environment[key]) return environment[key];
  if (!prompts.possible || typed.isSet('--yes')) return undefined;
  const problem = (answer: string) => schema.safeParse(answer).error?.issues[0]?.message;
  return prompts.ask({ message, initial, problem });
}

/** Secrets that the environment holds stay there; a URL without one is written down. */
async function chooseDatabase(call: Call, dataDir: string): Promise<Record<string, string>> {
  const { typed, environment, output } = call;
  const fallback = `sqlite:${resolve(dataDir, 'svc.db')}`;
  const isDash = typed.text('--database') === '-';
  if (typed.text('--database') === undefined && isInEnvironment(call, settings.databaseUrl)) {
    const url = environment.SVC_DATABASE_URL;
    if (url === undefined || holdsPassword(url)) {
      output.note('SVC_DATABASE_URL stays in the environment: its password is not copied to the file. Keep it set.');
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

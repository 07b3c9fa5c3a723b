import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { toProblem } from '#src/platform/config/config-error.js';
import { problemsBetween } from '#src/platform/config/cross-field.js';
import { parseFilesUrl } from '#src/platform/config/files-url.js';
import { type Config, settings } from '#src/platform/config/schema.js';
import { Secret } from '#src/platform/config/secret.js';
import {
  type CopyProgress,
  copyObjects,
  type FileStore,
  FileStoreError,
  type Owner,
  openFileStoreAt,
  probeFileStore,
} from '#src/platform/file-store/index.js';
import { whyUnwritable } from '#src/platform/system-errors.js';
import { type Call, command } from '../command.js';
import type { CommandResult } from '../command-result.js';
import { changeConfig, isWritable } from '../config-file.js';
import { count } from '../count.js';
import { CommandError, shellWord, usageError } from '../exit.js';
import { pairs } from '../table.js';

/** A pass that copies nothing ends the command; where uploads never pause, so does this many of them. */
const maxPasses = 5;
/** Keys of a list that are shown as text. */
const shownKeys = 10;
/** Objects between two notes of the progress. */
const noteEvery = 1000;

/** Where the files are and where they go, as values of `SVC_FILES_URL`. */
interface Move {
  readonly from: string;
  readonly to: string;
}

/** A process with the settings of before still writes to the old store. */
const question = 'Has every server process been restarted since the settings were switched to the new store?';

const move = command({
  path: 'files move',
  summary:
    'Copies the bytes of all files to another store while the service runs, verifies each copy, and switches the settings to the new store. Run again, it copies what is missing',
  options: [
    {
      flag: '--to',
      value: 'URL',
      summary: 'the new store, a value of SVC_FILES_URL (default: SVC_FILES_URL, from SVC_FILES_FROM)',
    },
  ],
  examples: ['svc files move --to file:moved-files', 'svc files move --yes --json'],
  needs: 'database',
  run: async ({ args, output, loaded, prompts, runtime }): Promise<CommandResult> => {
    const { config, file, origins } = loaded;
    const move = moveOf(args.text('--to'), config);
    const isFinished = config.filesFrom !== undefined;
    if (isFinished) await prompts.confirm(question);
    const candidate: Config = { ...config, filesUrl: new Secret(move.to), filesFrom: new Secret(move.from) };
    const [problem] = problemsBetween(candidate);
    if (problem !== undefined)
      throw usageError(toProblem(problem).message, 'correct --to, or the settings of the S3 service');
    const deps = { log: runtime.log, owner: ownerOf(config.dataDir) };
    const [source, target] = [candidate.filesFrom, candidate.filesUrl].map((url) => openFileStoreAt(url, config, deps));
    if (source === undefined || target === undefined) throw new TypeError('two stores were opened');
    const isSwitched =
      file !== null &&
      isWritable(file) &&
      [origins.filesUrl, origins.filesFrom].every((origin) => ['file', 'default', 'unset'].includes(origin));
    const total = await copied(source, target, output);
    const change: Record<string, string | null> = isFinished
      ? { SVC_FILES_FROM: null }
      : { SVC_FILES_URL: move.to, SVC_FILES_FROM: move.from };
    if (isSwitched) changeConfig(file, change);
    const text = `${count(total.copied, 'object')} (${count(total.bytes, 'byte')}) copied and verified, ${total.present} there already.`;
    return { value: { ...move, ...total, switched: isSwitched }, text, next: nextStep(isFinished, isSwitched, move) };
  },
});

const check = command({
  path: 'files check',
  summary: 'Compares the file store with the database, both ways; exit code 1 where they differ',
  examples: ['svc files check', 'svc files check --json'],
  needs: 'appliance',
  run: async ({ features, loaded }) => {
    const found = await features.checkFiles();
    const ok = found.missing.length === 0 && found.orphans.length === 0;
    const text = pairs([
      ['objects', String(found.objects)],
      ['bytes', String(found.bytes)],
      ['missing objects', found.missing.slice(0, shownKeys).join(' ') || 'none'],
      ['files that need them', found.files.slice(0, shownKeys).map(nameOf).join(' ') || 'none'],
      ['unknown objects', found.orphans.slice(0, shownKeys).join(' ') || 'none'],
    ]);
    return { value: { ok, ...found }, text, ...remedyOf(found, loaded.config), exitCode: ok ? 0 : 1 };
  },
});

function nameOf({ projectId, bucketId, fileId }: { projectId: string; bucketId: string; fileId: string }): string {
  return `${projectId}/${bucketId}/${fileId}`;
}

function remedyOf(
  { missing, orphans }: { readonly missing: readonly string[]; readonly orphans: readonly string[] },
  config: Config,
) {
  const url = storeOf(config);
  if (missing.length > 0)
    return { next: `restore the missing objects from a backup of ${url}, or delete their files by the API` };
  const [first] = orphans;
  return first === undefined ? {} : { next: `delete the unknown objects, such as ${removalOf(first, url)}` };
}

/** The command that removes an object from a store. */
function removalOf(key: string, url: string): string {
  const location = parseFilesUrl(url);
  if (location?.kind === 'disk') return `rm ${shellWord(resolve(location.directory, key))}`;
  if (location === undefined) return key;
  const endpoint = location.endpoint === null ? '' : ` --endpoint-url ${shellWord(location.endpoint)}`;
  return `aws s3 rm ${shellWord(`s3://${location.bucket}/${location.prefix}${key}`)}${endpoint}`;
}

/** The store in force, as a value of `SVC_FILES_URL`. */
function storeOf({ filesUrl, dataDir }: Pick<Config, 'filesUrl' | 'dataDir'>): string {
  return filesUrl?.reveal() ?? `file:${resolve(dataDir, 'files')}`;
}

/** `svc files …` */
export const filesCommands = [move, check];

/** A move that has been switched to goes on; another one may begin after it. */
function moveOf(to: string | undefined, config: Config): Move {
  const { filesFrom } = config;
  const current = storeOf(config);
  if (filesFrom !== undefined) {
    if (to !== undefined && absolute(to) !== current)
      throw new CommandError('conflict', 'files_move_unfinished', 'Another move is not finished.', 'svc files move');
    return { from: filesFrom.reveal(), to: current };
  }
  if (to === undefined) throw usageError('No store is given.', 'name the new store with --to URL');
  const parsed = settings.filesUrl.schema.safeParse(to);
  if (!parsed.success) throw usageError(`--to ${parsed.error.issues[0]?.message}`);
  if (absolute(to) === current)
    throw usageError('The files are in this store already.', 'name another one with --to URL');
  return { from: current, to: absolute(to) };
}

/** Whose the data directory is, where the superuser runs the command: the service has to read and remove what is copied. */
function ownerOf(dataDir: string): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const { uid, gid } = statSync(resolve(dataDir));
  return { uid, gid };
}

/** A directory is meant from where the command runs, not from where the service does. */
function absolute(url: string): string {
  return url.startsWith('file:') ? `file:${resolve(url.slice('file:'.length))}` : url;
}

async function copied(source: FileStore, target: FileStore, output: Call['output']): Promise<CopyProgress> {
  try {
    const reason = await probeFileStore(target);
    if (reason !== undefined) throw new FileStoreError('probe', { reason });
    let [objects, bytes] = [0, 0];
    for (let pass = 1; ; pass++) {
      const progress = await onePass(source, target, output);
      objects += progress.copied;
      bytes += progress.bytes;
      if (progress.copied === 0 || pass === maxPasses)
        return { ...progress, copied: objects, bytes, present: Math.max(0, progress.present - objects) };
    }
  } catch (error) {
    if (!(error instanceof FileStoreError)) throw error;
    throw new CommandError(
      'unreachable',
      'file_store_unusable',
      `The files cannot be copied: ${whyUnwritable(error.reason)}.`,
      'correct it and run the command again; it goes on where it ended',
    );
  } finally {
    await source.close();
    await target.close();
  }
}

async function onePass(source: FileStore, target: FileStore, output: Call['output']): Promise<CopyProgress> {
  let last: CopyProgress = { present: 0, copied: 0, bytes: 0, removed: 0 };
  let seen = 0;
  for await (const progress of copyObjects(source, target)) {
    last = progress;
    seen += 1;
    if (seen % noteEvery === 0)
      output.note(`${count(progress.present, 'object')} there already, ${progress.copied} copied`);
  }
  return last;
}

function nextStep(isFinished: boolean, isSwitched: boolean, { from, to }: Move): string {
  if (isFinished && isSwitched) return `restart the service when it suits you; nothing is read from ${from} any more`;
  if (isFinished) return 'unset SVC_FILES_FROM and restart the service when it suits you';
  const set = isSwitched ? '' : `set SVC_FILES_URL=${to} and SVC_FILES_FROM=${from}, `;
  return `${set}restart the service, then run svc files move to copy what was written meanwhile`;
}

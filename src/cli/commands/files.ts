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
  openFileStoreAt,
  probeFileStore,
} from '#src/platform/file-store/index.js';
import { whyUnwritable } from '#src/platform/runtime/system-errors.js';
import { changeConfig, isWritable } from '../installation/config-file.js';
import { type CommandCall, type CommandResult, command } from '../line/command.js';
import { count } from '../terminal/count.js';
import { conflictError, shellWord, unreachableError, usageError } from '../terminal/exit.js';
import { createProgress } from '../terminal/progress.js';
import { pairs } from '../terminal/table.js';
import { ownerOf } from './backup-place.js';

/** Maximum number of passes. The command ends after a pass that copies nothing, or after this many if uploads continue. */
const maxPasses = 5;
/** Maximum number of keys shown as text. */
const shownKeys = 10;
/** Objects between two progress notes. */
const noteEvery = 1000;

/** Source and target, as values of `SVC_FILES_URL`. */
interface Move {
  readonly from: string;
  readonly to: string;
}

/** A process with the old settings still writes to the old store. */
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
    const text = `${count(total.copied, 'object')} (${count(total.bytes, 'byte')}) copied and verified, ${total.present} already there.`;
    return { value: { ...move, ...total, switched: isSwitched }, text, next: nextStep(isFinished, isSwitched, move) };
  },
});

const check = command({
  path: 'files check',
  summary: 'Compares the file store with the database, both ways; exit code 1 where they differ',
  examples: ['svc files check', 'svc files check --json'],
  run: async ({ features, loaded, output }) => {
    const progress = createProgress(output);
    const found = await features
      .checkFiles(undefined, (objects, which) =>
        progress.show(`${count(objects, 'object')} ${which === 'referred' ? 'of files' : 'in the store'} checked`),
      )
      .finally(() => progress.clear());
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

/** The command that deletes an object from a store. */
function removalOf(key: string, url: string): string {
  const location = parseFilesUrl(url);
  if (location?.kind === 'disk') return `rm ${shellWord(resolve(location.directory, key))}`;
  if (location === undefined) return key;
  const endpoint = location.endpoint === null ? '' : ` --endpoint-url ${shellWord(location.endpoint)}`;
  return `aws s3 rm ${shellWord(`s3://${location.bucket}/${location.prefix}${key}`)}${endpoint}`;
}

/** The current store, as a value of `SVC_FILES_URL`. */
function storeOf({ filesUrl, dataDir }: Pick<Config, 'filesUrl' | 'dataDir'>): string {
  return filesUrl?.reveal() ?? `file:${resolve(dataDir, 'files')}`;
}

/** `svc files …` */
export const filesCommands = [move, check];

/** Continues an unfinished move if the settings are already switched. Throws for a different move until then. */
function moveOf(to: string | undefined, config: Config): Move {
  const { filesFrom } = config;
  const current = storeOf(config);
  if (filesFrom !== undefined) {
    if (to !== undefined && absolute(to) !== current)
      throw conflictError('files_move_unfinished', 'Another move is not finished.', 'svc files move');
    return { from: filesFrom.reveal(), to: current };
  }
  if (to === undefined) throw usageError('No store is given.', 'name the new store with --to URL');
  const parsed = settings.filesUrl.schema.safeParse(to);
  if (!parsed.success) throw usageError(`--to ${parsed.error.issues[0]?.message}`);
  if (absolute(to) === current)
    throw usageError('The files are in this store already.', 'name another one with --to URL');
  return { from: current, to: absolute(to) };
}

/** Resolves a directory relative to the current one, because the service may run in another. */
function absolute(url: string): string {
  return url.startsWith('file:') ? `file:${resolve(url.slice('file:'.length))}` : url;
}

async function copied(source: FileStore, target: FileStore, output: CommandCall['output']): Promise<CopyProgress> {
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
    throw unreachableError(
      'file_store_unusable',
      `The files cannot be copied: ${whyUnwritable(error.reason)}.`,
      'correct it and run the command again; it goes on where it ended',
    );
  } finally {
    await source.close();
    await target.close();
  }
}

async function onePass(source: FileStore, target: FileStore, output: CommandCall['output']): Promise<CopyProgress> {
  let last: CopyProgress = { present: 0, copied: 0, bytes: 0, removed: 0 };
  let seen = 0;
  for await (const progress of copyObjects(source, target)) {
    last = progress;
    seen += 1;
    if (seen % noteEvery === 0)
      output.note(`${count(progress.present, 'object')} already there, ${progress.copied} copied`);
  }
  return last;
}

function nextStep(isFinished: boolean, isSwitched: boolean, { from, to }: Move): string {
  if (isFinished && isSwitched) return `restart the service when it suits you; nothing is read from ${from} any more`;
  if (isFinished) return 'unset SVC_FILES_FROM and restart the service when it suits you';
  const set = isSwitched ? '' : `set SVC_FILES_URL=${to} and SVC_FILES_FROM=${from}, `;
  return `${set}restart the service, then run svc files move to copy what was written meanwhile`;
}

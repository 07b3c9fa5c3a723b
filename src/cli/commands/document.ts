import { once } from 'node:events';
import { createReadStream, createWriteStream, rmSync, statSync, type WriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { z } from 'zod';
import { Failure } from '#src/contract/errors.js';
import { bodySizes } from '#src/contract/limits.js';
import { permissionList } from '#src/contract/permissions.js';
import { newId, uniqueId } from '#src/contract/shapes.js';
import { visible } from '#src/contract/visible.js';
import { type ImportedDocument, printDocument, type TransferPlace } from '#src/features/index.js';
import { similar } from '#src/platform/config/load.js';
import { errorCode } from '#src/platform/files.js';
import { parseJson } from '#src/platform/json.js';
import { type ApplianceCall, command, projectOption } from '../command.js';
import type { CommandResult } from '../command-result.js';
import { count } from '../count.js';
import {
  csvHeader,
  csvLine,
  type DocumentFormat,
  documentFormats,
  documentRecords,
} from '../document-records/index.js';
import { createRefusedTexts, type RefusedLine, refusedAsJson } from '../document-records/refused-lines.js';
import { CommandError, shellWord, usageError } from '../exit.js';
import { endAtSignal } from '../interrupt.js';
import { createProgress, type Progress } from '../progress.js';
import { writeOut } from '../stream.js';
import { databaseOption } from './collection-view.js';

/** Documents of one unit of work, and about how many bytes of the file. */
const batch = { documents: 200, bytes: 1_000_000 } as const;
const collectionOption = { flag: '--collection', value: 'ID', summary: 'the collection', required: true } as const;
const formatOption = {
  flag: '--format',
  value: 'FORMAT',
  summary: 'form of the file (default: csv where its name ends so, ndjson otherwise)',
  choices: documentFormats,
} as const;

const exportDocuments = command({
  path: 'document export',
  summary: 'Writes all documents of a collection to a file or stdout, as one JSON object a line or as CSV',
  arguments: [{ name: 'FILE', summary: 'the file; - for stdout (default: -)', optional: true }],
  options: [projectOption, databaseOption, collectionOption, formatOption],
  examples: [
    'svc document export posts.ndjson --project shop --database blog --collection posts',
    'svc document export --project shop --database blog --collection posts --format csv > posts.csv',
  ],
  needs: 'appliance',
  run: async (call) => {
    const { features, output } = call;
    const file = call.args.optionalArgument('FILE') ?? '-';
    const format = formatOf(call, file);
    const place = await transferPlace(call);
    const target = file === '-' ? undefined : await opened(createWriteStream(file, { mode: 0o600 }), file);
    const write = target === undefined ? writeOut : (text: string) => append(target, text);
    const progress = createProgress(output);
    let documents = 0;
    try {
      for await (const { text, count: more } of exportedTexts(features.transfer.exported(place), format)) {
        await write(text);
        documents += more;
        progress.show(count(documents, 'document'));
      }
      progress.clear();
      if (target === undefined) return undefined;
      await ended(target);
    } catch (error) {
      progress.clear();
      // A part would look like an export.
      if (target !== undefined && statSync(file, { throwIfNoEntry: false })?.isFile()) rmSync(file, { force: true });
      throw error;
    }
    return {
      value: { file, documents },
      text: `${count(documents, 'document')} ${documents === 1 ? 'is' : 'are'} in ${file}.`,
    };
  },
});

/** Pages of documents as they stand in the file. */
async function* exportedTexts(
  pages: ReturnType<ApplianceCall['features']['transfer']['exported']>,
  format: DocumentFormat,
): AsyncGenerator<{ readonly text: string; readonly count: number }, void, undefined> {
  let columns: Parameters<typeof csvHeader>[0] | undefined;
  for await (const page of pages) {
    if (columns === undefined && format === 'csv') yield { text: csvHeader(page.attributes), count: 0 };
    // What is added meanwhile has no column.
    columns ??= page.attributes;
    const fields = columns;
    const lines = page.documents.map((document) => {
      const text = printDocument(document).join('');
      return format === 'csv' ? csvLine(parseJson(text) as Record<string, unknown>, fields) : `${text}\n`;
    });
    yield { text: lines.join(''), count: page.documents.length };
  }
}

const importDocuments = command({
  path: 'document import',
  summary:
    'Creates documents from a file of JSON objects, one a line, or of CSV, beside a running server. A line that cannot be written is reported, and the others are written',
  arguments: [{ name: 'FILE', summary: 'the file; - for stdin' }],
  options: [
    projectOption,
    databaseOption,
    collectionOption,
    formatOption,
    { flag: '--upsert', summary: 'change the documents whose ids are taken' },
    { flag: '--report', value: 'FILE', summary: 'write the refused lines there, as JSON (default: to stderr)' },
  ],
  examples: [
    'svc document import posts.ndjson --project shop --database blog --collection posts --upsert',
    'svc document import posts.csv --project shop --database blog --collection posts --upsert --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const { args, features, output } = call;
    const file = args.argument('FILE');
    const format = formatOf(call, file);
    const place = await transferPlace(call);
    const { attributes } = await features.databases.getCollection(call.runtime.db, {
      projectId: place.project.id,
      databaseId: place.databaseId,
      collectionId: place.collectionId,
    });
    const ending = new AbortController();
    const [chunks, size] = source(file, ending.signal);
    const progress = createProgress(output);
    const report = await reportOf(call, progress);
    endAtSignal(() => ending.abort());
    const counts = { created: 0, updated: 0, unchanged: 0, failed: 0 };
    const foreign = new Set<string>();
    let advice: string | undefined;
    const refuse = async (line: number, id: string | undefined, type: string, message: string) => {
      counts.failed += 1;
      await report.add({ line, ...(id === undefined ? {} : { id }), type, message });
    };
    let waiting: WaitingLine[] = [];
    let [bytes, done, lastLine] = [0, 0, 0];
    const flush = async () => {
      const given = waiting;
      waiting = [];
      done += bytes;
      bytes = 0;
      if (given.length === 0) return;
      const by = call.auditContext(place.project.id);
      const documents = given.flatMap(({ document }) => (document === undefined ? [] : [document]));
      const outcomes =
        documents.length === 0
          ? []
          : [...(await features.transfer.importSome(place, by, documents, args.isSet('--upsert')))];
      // In the order of the lines, whoever refuses them.
      for (const { line, document, refused } of given) {
        if (refused !== undefined) await refuse(line, undefined, refused.type, refused.message);
        const outcome = document && outcomes.shift();
        if (document === undefined || outcome === undefined) continue;
        if (!(outcome instanceof Failure)) counts[outcome] += 1;
        else {
          advice ??= adviceFor(call, outcome.type, document, attributes);
          await refuse(line, document.id === uniqueId ? undefined : document.id, outcome.type, outcome.message);
        }
      }
      const lines = counts.created + counts.updated + counts.unchanged + counts.failed;
      progress.show(
        `${count(lines, 'document')}, ${counts.failed} refused`,
        size === undefined ? undefined : done / size,
      );
    };
    for await (const record of documentRecords(chunks, format, attributes, bodySizes.documents)) {
      if (ending.signal.aborted) break;
      bytes += record.bytes;
      const parsed = record.value === undefined ? undefined : imported(record.value);
      for (const name of Object.keys(record.value ?? {}))
        if (isForeign(name) && foreign.size < maxForeign) foreign.add(name.slice(0, 40));
      const { line } = record;
      lastLine = line;
      if (record.problem !== undefined)
        waiting.push({ line, refused: { type: 'line_invalid', message: record.problem } });
      else if (typeof parsed === 'string')
        waiting.push({ line, refused: { type: 'general_argument_invalid', message: parsed } });
      else if (parsed !== undefined) waiting.push({ line, document: parsed });
      if (waiting.length >= batch.documents || bytes >= batch.bytes) await flush();
    }
    await flush();
    progress.clear();
    await report.end();
    const { created, updated, unchanged, failed } = counts;
    const ignored = [...foreign];
    const left = ignored.length === 0 ? '' : ` Not imported: ${ignored.map(visible).join(', ')}.`;
    const value = ignored.length === 0 ? counts : { ...counts, ignored };
    const text = `${count(created, 'document')} created, ${updated} updated, ${unchanged} unchanged, ${failed} refused.${left}`;
    if (ending.signal.aborted) return stopped(lastLine, value, text);
    return { value, text, exitCode: failed === 0 ? 0 : 1, ...(advice === undefined ? {} : { next: advice }) };
  },
});

/** What an import says that a signal has ended: how far it came, and how to go on. */
function stopped(line: number, value: object, text: string): CommandResult {
  return {
    value: { ...value, stoppedAfterLine: line },
    text: `Stopped after line ${line}. ${text}`,
    exitCode: Number(process.exitCode),
    next: 'to go on, import the lines after it; with --upsert those before it may stay where they have an $id',
  };
}

/** A line that was read: its document, or why it has none. */
interface WaitingLine {
  readonly line: number;
  readonly document?: ImportedDocument;
  readonly refused?: { readonly type: string; readonly message: string };
}

/** `svc document …` */
export const documentCommands = [exportDocuments, importDocuments];

const line = z.looseObject({
  $id: newId.default(uniqueId),
  $permissions: permissionList.nullish().transform((list) => list ?? undefined),
  $createdAt: z.string().nullish(),
  $updatedAt: z.string().nullish(),
});

/** Members that an export has and an import does not need: the new place decides them. */
const ofPlace = ['$sequence', '$collectionId', '$databaseId', '$tableId'];
/** Names of members that are told; a file may have any number. */
const maxForeign = 20;

/** Whether a member is for the service, which does not know it. */
function isForeign(name: string): boolean {
  return name.startsWith('$') && !Object.hasOwn(line.shape, name) && !ofPlace.includes(name);
}

/** The document of a line, or why it is none. Members of other places, such as the sequence, are dropped by the service. */
function imported(value: Readonly<Record<string, unknown>>): ImportedDocument | string {
  const parsed = line.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return `${issue?.path.join('.') ?? 'The line'} ${issue?.message ?? 'is not valid'}.`;
  }
  const { $id, $permissions, $createdAt, $updatedAt, ...data } = parsed.data;
  return {
    id: $id,
    permissions: $permissions,
    createdAt: $createdAt ?? undefined,
    updatedAt: $updatedAt ?? undefined,
    data,
  };
}

async function transferPlace({ args, features, runtime }: ApplianceCall): Promise<TransferPlace> {
  const project = await features.projects.get(runtime.db, args.required('--project'));
  const place = { databaseId: args.required('--database'), collectionId: args.required('--collection') };
  await features.databases.getCollection(runtime.db, { projectId: project.id, ...place });
  return { project, ...place };
}

function formatOf({ args }: ApplianceCall, file: string): DocumentFormat {
  const given = documentFormats.find((format) => format === args.text('--format'));
  return given ?? (/\.csv$/i.test(file) ? 'csv' : 'ndjson');
}

/** What lets the next run write a document that was refused; undefined where only the file can be corrected. */
function adviceFor(
  { args }: ApplianceCall,
  type: string,
  { data }: ImportedDocument,
  attributes: readonly { readonly key: string }[],
): string | undefined {
  if (type === 'document_already_exists')
    return 'run it again with --upsert to change the documents whose ids are taken';
  if (type !== 'document_invalid_structure') return undefined;
  const unknown = Object.keys(data ?? {}).find(
    (key) => !key.startsWith('$') && !attributes.some((one) => one.key === key),
  );
  if (unknown === undefined) return undefined;
  const near = similar(
    unknown,
    attributes.map(({ key }) => key),
  );
  if (near !== undefined) return `did you mean the attribute ${near} instead of ${visible(unknown)}?`;
  const scope = `--project ${args.required('--project')} --database ${args.required('--database')}`;
  return `svc collection add-attribute ${args.required('--collection')} ${shellWord(unknown)} ${scope} --type TYPE`;
}

/** A file or stdin up to a signal, with its size where that is known. */
function source(file: string, signal: AbortSignal): [AsyncIterable<Buffer>, number | undefined] {
  if (file === '-') return [chunksUntil(signal, process.stdin), undefined];
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined)
    throw new CommandError(
      'notFound',
      'file_not_found',
      `${file} cannot be read.`,
      'check the path and its permissions',
    );
  if (found.isDirectory()) throw usageError(`${file} is a directory.`, 'name a file, or - for stdin');
  return [chunksUntil(signal, createReadStream(file)), found.size];
}

/** What a stream brings until a signal, which ends the wait for more too. */
async function* chunksUntil(signal: AbortSignal, stream: Readable): AsyncGenerator<Buffer, void, undefined> {
  signal.addEventListener('abort', () => stream.destroy());
  try {
    yield* stream;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Where refused lines are told: a file, or stderr. */
async function reportOf({ args, output }: ApplianceCall, progress: Progress) {
  const file = args.text('--report');
  const target = file === undefined ? undefined : await opened(createWriteStream(file, { mode: 0o600 }), file);
  const texts = createRefusedTexts();
  const tell = async (text: string): Promise<void> => {
    if (text === '') return;
    progress.clear();
    if (!process.stderr.write(text)) await once(process.stderr, 'drain');
  };
  return {
    add: async (refused: RefusedLine): Promise<void> => {
      if (target !== undefined) return append(target, refusedAsJson(refused));
      await tell(output.json ? refusedAsJson(refused) : texts.textOf(refused));
    },
    end: async (): Promise<void> => {
      await tell(texts.rest());
      if (target !== undefined) await ended(target);
    },
  };
}

async function opened(stream: WriteStream, file: string): Promise<WriteStream> {
  try {
    await once(stream, 'open');
    // What fails later is told by the write that finds it.
    stream.on('error', () => {});
    return stream;
  } catch {
    throw new CommandError(
      'failed',
      'file_not_written',
      `${file} cannot be written.`,
      'check the path and its permissions',
    );
  }
}

async function append(stream: WriteStream, text: string): Promise<void> {
  if (stream.errored !== null) throw unwritten(stream, stream.errored);
  try {
    if (!stream.write(text)) await once(stream, 'drain');
  } catch (error) {
    throw unwritten(stream, error);
  }
}

async function ended(stream: WriteStream): Promise<void> {
  try {
    stream.end();
    await finished(stream);
  } catch (error) {
    throw unwritten(stream, error);
  }
}

function unwritten({ path }: WriteStream, error: unknown): CommandError {
  const code = errorCode(error);
  const reason = ['ENOSPC', 'EDQUOT'].includes(code) ? 'the disk is full' : code;
  const fix = 'make room or name a file on another disk, then run the command again';
  return new CommandError('failed', 'file_not_written', `${path} cannot be written: ${reason}.`, fix);
}

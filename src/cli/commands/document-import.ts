import { z } from 'zod';
import { Failure } from '#src/contract/errors.js';
import { permissionList } from '#src/contract/permissions.js';
import { newId, refusedMembers, uniqueId } from '#src/contract/shapes.js';
import { similar } from '#src/contract/similar.js';
import { visible } from '#src/contract/visible.js';
import type { Attribute, ImportedDocument } from '#src/features/index.js';
import { conversionOf } from '../document-records/foreign-rows.js';
import { type DocumentFormat, type DocumentRecord, documentRecords } from '../document-records/index.js';
import { type ApplianceCall, type CommandResult, projectCommand } from '../line/command.js';
import { count } from '../terminal/count.js';
import { shellWord } from '../terminal/exit.js';
import { endAtSignal } from '../terminal/interrupt.js';
import { createProgress } from '../terminal/progress.js';
import { databaseOption } from './collection-view.js';
import { collectionOption, formatOf, formatOption, transferPlace } from './document-place.js';
import { importSource, refusalReport } from './import-source.js';

/** Maximum documents and approximate bytes of the file per unit of work. */
const batch = { documents: 200, bytes: 1_000_000 } as const;
/**
 * Maximum bytes of a line: twice the default for the largest response, because CSV doubles quotes. So every exported document can be
 * imported.
 */
const lineBytes = 33_554_432;

/** `svc document import` */
export const importDocuments = projectCommand({
  path: 'document import',
  summary:
    'Creates documents from a CSV file or a file with one JSON object per line. The server can keep running. Reports lines that it cannot write, and writes the others',
  arguments: [{ name: 'FILE', summary: 'the file; - for stdin' }],
  options: [
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
  run: async (call) => {
    const { args, features, output } = call;
    const file = args.argument('FILE');
    const format = formatOf(call, file);
    const { place, attributes } = await transferPlace(call);
    const ending = new AbortController();
    const [chunks, size] = importSource(file, ending.signal);
    const progress = createProgress(output);
    const report = await refusalReport(call, progress, file);
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
      // Reported in line order, even if some lines fail before the write.
      for (const { line, document, refused } of given) {
        if (refused !== undefined) await refuse(line, undefined, refused.type, refused.message);
        const outcome = document && outcomes.shift();
        if (document === undefined || outcome === undefined) continue;
        if (!(outcome instanceof Failure)) counts[outcome] += 1;
        else {
          advice ??= adviceFor(call, format, outcome.type, document, attributes);
          await refuse(line, document.id === uniqueId ? undefined : document.id, outcome.type, outcome.message);
        }
      }
      const lines = counts.created + counts.updated + counts.unchanged + counts.failed;
      progress.show(
        `${count(lines, 'document')}, ${counts.failed} refused`,
        size === undefined ? undefined : done / size,
      );
    };
    try {
      for await (const record of documentRecords(chunks, format, attributes, lineBytes)) {
        if (ending.signal.aborted) break;
        bytes += record.bytes;
        lastLine = record.line;
        for (const name of Object.keys(record.value ?? {}))
          if (isForeign(name) && foreign.size < maxForeign) foreign.add(name.slice(0, 40));
        const read = waitingLine(record);
        if (read !== undefined) waiting.push(read);
        if (waiting.length >= batch.documents || bytes >= batch.bytes) await flush();
      }
      await flush();
    } finally {
      progress.clear();
      await report.end();
    }
    const { created, updated, unchanged, failed } = counts;
    const ignored = [...foreign];
    const left = ignored.length === 0 ? '' : ` Not imported: ${ignored.map(visible).join(', ')}.`;
    const value = ignored.length === 0 ? counts : { ...counts, ignored };
    const text = `${count(created, 'document')} created, ${updated} updated, ${unchanged} unchanged, ${failed} refused.${left}`;
    if (ending.signal.aborted) return stopped(lastLine, format, value, text);
    return { value, text, exitCode: failed === 0 ? 0 : 1, ...(advice === undefined ? {} : { next: advice }) };
  },
});

/** The result of an import stopped by a signal, with its progress and the next step. */
function stopped(line: number, format: DocumentFormat, value: object, text: string): CommandResult {
  return {
    value: { ...value, stoppedAfterLine: line },
    text: `Stopped after line ${line}. ${text}`,
    exitCode: Number(process.exitCode),
    next:
      `to go on, import the file without lines ${format === 'csv' ? 2 : 1} to ${line}; ` +
      'with --upsert they can stay if each has an $id',
  };
}

/** A parsed line: its document, or the reason for rejecting it. */
interface WaitingLine {
  readonly line: number;
  readonly document?: ImportedDocument;
  readonly refused?: { readonly type: string; readonly message: string };
}

/** Parses a line; undefined if it is empty. */
function waitingLine({ line, value, problem }: DocumentRecord): WaitingLine | undefined {
  if (problem !== undefined) return { line, refused: { type: 'line_invalid', message: problem } };
  if (value === undefined) return undefined;
  const document = imported(value);
  return typeof document === 'string'
    ? { line, refused: { type: 'general_argument_invalid', message: document } }
    : { line, document };
}

const members = z.looseObject({
  $id: newId.default(uniqueId),
  $permissions: permissionList.nullish().transform((list) => list ?? undefined),
  $createdAt: z.string().nullish(),
  $updatedAt: z.string().nullish(),
});

/** Members in an export that an import ignores, because the target collection determines them. */
const ofPlace = ['$sequence', '$collectionId', '$databaseId', '$tableId'];
/** Maximum number of reported member names, because a file may have any number. */
const maxForeign = 20;

/** True for a member with `$` that svc does not know. */
function isForeign(name: string): boolean {
  return name.startsWith('$') && !Object.hasOwn(members.shape, name) && !ofPlace.includes(name);
}

/** The document of a line, or the reason why it is invalid. The service drops members that the target determines, such as the sequence. */
function imported(value: Readonly<Record<string, unknown>>): ImportedDocument | string {
  const refused = Object.keys(value).find((name) => refusedMembers.has(name));
  if (refused !== undefined) return `The line has a member that is not allowed: ${refused}.`;
  const parsed = members.safeParse(value);
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

/** Suggests how to import a rejected document; undefined if only the file can be corrected. */
function adviceFor(
  { args }: ApplianceCall,
  format: DocumentFormat,
  type: string,
  { data }: ImportedDocument,
  attributes: readonly Attribute[],
): string | undefined {
  if (type === 'document_already_exists')
    return 'run it again with --upsert to change the documents whose ids are taken';
  if (type !== 'document_invalid_structure') return undefined;
  const file = args.argument('FILE');
  const unknown = Object.keys(data ?? {}).find(
    (key) => !key.startsWith('$') && !attributes.some((one) => one.key === key),
  );
  if (unknown === undefined) return format === 'csv' ? arrayAdvice(data, attributes) : undefined;
  const conversion = attributes.some(({ key }) => key === 'id') ? undefined : conversionOf(data ?? {}, file);
  if (conversion !== undefined) return conversion;
  const near = similar(
    unknown,
    attributes.map(({ key }) => key),
  );
  if (near !== undefined) return `did you mean the attribute ${near} instead of ${visible(unknown)}?`;
  const scope = `--project ${args.required('--project')} --database ${args.required('--database')}`;
  return `svc collection add-attribute ${args.required('--collection')} ${shellWord(unknown)} ${scope} --type TYPE`;
}

/** Explains how to write lists in CSV; undefined if all are valid. */
function arrayAdvice(data: ImportedDocument['data'], attributes: readonly Attribute[]): string | undefined {
  const wrong = attributes.find(({ key, array }) => array && typeof data?.[key] === 'string');
  return (
    wrong && `write the list in the column ${wrong.key} as JSON in quotes, such as "[""first"",""second""]" or "[1,2]"`
  );
}

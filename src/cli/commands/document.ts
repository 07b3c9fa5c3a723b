import { printDocument } from '#src/features/index.js';
import { parseJson } from '#src/platform/text/json.js';
import { csvHeader, csvLine, type DocumentFormat } from '../document-records/index.js';
import { type ApplianceCall, command, projectOption } from '../line/command.js';
import { count } from '../terminal/count.js';
import { CommandError, exitCodes } from '../terminal/exit.js';
import { endAtSignal } from '../terminal/interrupt.js';
import { createProgress } from '../terminal/progress.js';
import { writeOut } from '../terminal/stream.js';
import { writtenFile } from '../terminal/written-file.js';
import { databaseOption } from './collection-view.js';
import { importDocuments } from './document-import.js';
import { collectionOption, formatOf, formatOption, noteForm, transferPlace } from './document-place.js';

const exportDocuments = command({
  path: 'document export',
  summary: 'Writes all documents of a collection to a file or stdout, as CSV or one JSON object per line',
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
    noteForm(call, file, format);
    const place = await transferPlace(call);
    const ending = new AbortController();
    if (file !== '-') endAtSignal(() => ending.abort());
    const target = file === '-' ? undefined : await writtenFile(file);
    const write = target?.append ?? writeOut;
    const progress = createProgress(output);
    let documents = 0;
    try {
      for await (const { text, count: more } of exportedTexts(features.transfer.exported(place), format)) {
        if (ending.signal.aborted) throw stopped(file);
        await write(text);
        documents += more;
        progress.show(count(documents, 'document'));
      }
      progress.clear();
      if (target === undefined) return undefined;
      await target.end();
    } catch (error) {
      progress.clear();
      target?.giveUp();
      throw error;
    }
    return {
      value: { file, documents },
      text: `${count(documents, 'document')} ${documents === 1 ? 'is' : 'are'} in ${file}.`,
    };
  },
});

/** Formats pages of documents as text for the file. */
async function* exportedTexts(
  pages: ReturnType<ApplianceCall['features']['transfer']['exported']>,
  format: DocumentFormat,
): AsyncGenerator<{ readonly text: string; readonly count: number }, void, undefined> {
  let columns: Parameters<typeof csvHeader>[0] | undefined;
  for await (const page of pages) {
    if (columns === undefined && format === 'csv') yield { text: csvHeader(page.attributes), count: 0 };
    // Attributes added during the export have no column.
    columns ??= page.attributes;
    const fields = columns;
    const lines = page.documents.map((document) => {
      const text = printDocument(document).join('');
      return format === 'csv' ? csvLine(parseJson(text) as Record<string, unknown>, fields) : `${text}\n`;
    });
    yield { text: lines.join(''), count: page.documents.length };
  }
}

/** Error for an export to a file that was stopped by a signal. */
function stopped(file: string): CommandError {
  const outcome = process.exitCode === exitCodes.terminated ? 'terminated' : 'interrupted';
  return new CommandError(outcome, 'export_stopped', `The export was stopped; ${file} is as it was.`, 'run it again');
}

/** `svc document …` */
export const documentCommands = [exportDocuments, importDocuments];

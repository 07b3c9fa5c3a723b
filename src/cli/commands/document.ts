import { printDocument } from '#src/features/index.js';
import { parseJson } from '#src/platform/text/json.js';
import { csvHeader, csvLine, type DocumentFormat } from '../document-records/index.js';
import { type ApplianceCall, projectCommand } from '../line/command.js';
import { databaseOption } from './collection-view.js';
import { importDocuments } from './document-import.js';
import { collectionOption, formatOf, formatOption, noteForm, transferPlace } from './document-place.js';
import { type ExportedText, exportArgument, exportRecords } from './export-records.js';

const exportDocuments = projectCommand({
  path: 'document export',
  summary: 'Writes all documents of a collection to a file or stdout, as CSV or one JSON object per line',
  arguments: [exportArgument],
  options: [databaseOption, collectionOption, formatOption],
  examples: [
    'svc document export posts.ndjson --project shop --database blog --collection posts',
    'svc document export --project shop --database blog --collection posts --format csv > posts.csv',
  ],
  run: async (call) => {
    const file = call.args.optionalArgument('FILE') ?? '-';
    const format = formatOf(call, file);
    noteForm(call, file, format);
    const { place } = await transferPlace(call);
    return exportRecords(call, file, 'document', exportedTexts(call.features.transfer.exported(place), format));
  },
});

/** Formats pages of documents as text for the file. */
async function* exportedTexts(
  pages: ReturnType<ApplianceCall['features']['transfer']['exported']>,
  format: DocumentFormat,
): AsyncGenerator<ExportedText, void, undefined> {
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

/** `svc document …` */
export const documentCommands = [exportDocuments, importDocuments];

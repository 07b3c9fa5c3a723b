import type { AdvisedScan } from '#src/features/index.js';
import { type ApplianceCall, command, optionalProject } from '../line/command.js';
import { usageError } from '../terminal/exit.js';
import { columns } from '../terminal/table.js';

/** `svc collection advise` */
export const adviseCommand = command({
  path: 'collection advise',
  summary: 'Lists slow queries that no index serves, and the commands that add the missing indexes',
  arguments: [{ name: 'COLLECTION', summary: 'id of a collection (default: all of them)', optional: true }],
  options: [
    optionalProject('only the collections of this project'),
    { flag: '--database', value: 'ID', summary: 'only those of this database; needs --project', values: 'database' },
  ],
  examples: ['svc collection advise', 'svc collection advise posts --project shop --database blog --json'],
  run: async (call) => {
    const { runtime, features } = call;
    const scans = await features.scans.advise(runtime.db, await selectionOf(call));
    return {
      value: { scans },
      text:
        scans.length === 0
          ? 'No slow query lacks an index, as far as the servers have noticed.'
          : columns(
              ['COLLECTION', 'QUERY', 'COUNT', 'AVERAGE', 'LONGEST', 'LAST', 'ADVICE'],
              scans.map((scan) => [
                `${scan.projectId}/${scan.databaseId}/${scan.collectionId}`,
                scan.list,
                String(scan.count),
                `${scan.averageMs} ms`,
                `${scan.longestMs} ms`,
                scan.lastAt,
                call.output.named(adviceOf(scan)),
              ]),
            ),
    };
  },
});

/** The selected collections. Throws if the project, database or collection does not exist. */
async function selectionOf({ args, runtime, features }: ApplianceCall) {
  const [projectId, databaseId] = [args.text('--project'), args.text('--database')];
  const collectionId = args.optionalArgument('COLLECTION');
  if (databaseId !== undefined && projectId === undefined)
    throw usageError('--database selects a database of a project.', 'add --project ID; svc project list');
  if (collectionId !== undefined && (projectId === undefined || databaseId === undefined))
    throw usageError('COLLECTION is a collection of a database.', 'add --project ID and --database ID');
  const { db } = runtime;
  if (projectId !== undefined) await features.projects.get(db, projectId);
  if (projectId !== undefined && databaseId !== undefined) {
    if (collectionId === undefined) await features.databases.getDatabase(db, projectId, databaseId);
    else await features.databases.getCollection(db, { projectId, databaseId, collectionId });
  }
  return { projectId, databaseId, collectionId };
}

/** The command for a shell; parts that no index can help with are appended as a comment. */
function adviceOf({ command: added, note }: AdvisedScan): string {
  if (added === null) return note;
  return note === '' ? added : `${added} # ${note}`;
}

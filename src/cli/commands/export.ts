import { exportToAppwrite } from '../appwrite-export/export.js';
import { projectCommand } from '../line/command.js';
import { shellWord } from '../terminal/exit.js';
import { endingSignal } from '../terminal/interrupt.js';
import { Lines } from '../terminal/lines.js';
import { createProgress } from '../terminal/progress.js';
import { columns } from '../terminal/table.js';
import { exportStopped } from './export-records.js';

/** `svc export` */
export const exportCommand = projectCommand({
  path: 'export',
  summary:
    'Writes a whole project for another product into a directory that only its owner can read: the schema, requests with users, password hashes and documents, all files, and a program that sends them',
  options: [
    { flag: '--format', value: 'FORMAT', summary: 'the other product', choices: ['appwrite'], required: true },
    { flag: '--to', value: 'DIR', summary: 'a new or empty directory', required: true },
  ],
  examples: [
    'svc export --project shop --format appwrite --to shop-for-appwrite',
    'svc export --project shop --format appwrite --to shop-again --json',
  ],
  run: async (call) => {
    const { args, output } = call;
    const project = await call.findProject();
    const directory = args.required('--to');
    const signal = endingSignal();
    const progress = createProgress(output);
    const options = { progress, signal };
    try {
      const value = await exportToAppwrite({ ...call, projectId: project.id }, project, directory, options);
      const counts = value.kinds.map(({ kind, count }) => [kind, String(count)]);
      const left = value.unsupported.map(({ kind, count, reason }) => [kind, String(count), reason]);
      const tables = [columns(['KIND', 'COUNT'], counts)];
      if (left.length > 0) tables.push(columns(['NOT EXPORTED', 'COUNT', 'REASON'], left, { sentences: true }));
      return {
        value: { directory, ...value },
        text: Lines.parts(tables),
        next: `read ${shellWord(directory)}/README.md; keep the directory as safe as the database: it has the password hashes`,
      };
    } catch (error) {
      if (!signal.aborted) throw error;
      throw exportStopped('The export was stopped.', `remove ${shellWord(directory)} and run it again`);
    } finally {
      progress.clear();
    }
  },
});

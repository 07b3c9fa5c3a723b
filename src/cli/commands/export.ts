import { exportToAppwrite } from '../appwrite-export/export.js';
import { command, projectOption } from '../line/command.js';
import { CommandError, exitCodes, shellWord } from '../terminal/exit.js';
import { endAtSignal } from '../terminal/interrupt.js';
import { Lines } from '../terminal/lines.js';
import { createProgress } from '../terminal/progress.js';
import { columns } from '../terminal/table.js';

/** `svc export` */
export const exportCommand = command({
  path: 'export',
  summary:
    'Writes a whole project for another product into a directory that only its owner can read: the schema, requests with users, password hashes and documents, all files, and a program that sends them',
  options: [
    projectOption,
    { flag: '--format', value: 'FORMAT', summary: 'the other product', choices: ['appwrite'], required: true },
    { flag: '--to', value: 'DIR', summary: 'a new or empty directory', required: true },
  ],
  examples: [
    'svc export --project shop --format appwrite --to shop-for-appwrite',
    'svc export --project shop --format appwrite --to shop-again --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const { args, features, output, runtime } = call;
    const project = await features.projects.get(runtime.db, args.required('--project'));
    const directory = args.required('--to');
    const ending = new AbortController();
    endAtSignal(() => ending.abort());
    const progress = createProgress(output);
    const options = { progress, signal: ending.signal };
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
      if (!ending.signal.aborted) throw error;
      const outcome = process.exitCode === exitCodes.terminated ? 'terminated' : 'interrupted';
      const fix = `remove ${shellWord(directory)} and run it again`;
      throw new CommandError(outcome, 'export_stopped', 'The export was stopped.', fix);
    } finally {
      progress.clear();
    }
  },
});

import type { CommandCall, CommandResult } from '../line/command.js';
import { count } from '../terminal/count.js';
import { CommandError, exitCodes } from '../terminal/exit.js';
import { endingSignal } from '../terminal/interrupt.js';
import { writeOut } from '../terminal/output.js';
import { createProgress } from '../terminal/progress.js';
import { writtenFile } from '../terminal/written-file.js';

/** The argument with the file of an export. */
export const exportArgument = { name: 'FILE', summary: 'the file; - for stdout (default: -)', optional: true } as const;

/** Some records of an export as text. */
export interface ExportedText {
  readonly text: string;
  readonly count: number;
}

/** Writes records to a file, or to stdout, which has no result. Throws CommandError if a signal stops it; the file is then as it was. */
export async function exportRecords(
  { output }: CommandCall,
  file: string,
  noun: string,
  texts: AsyncIterable<ExportedText>,
): Promise<CommandResult | undefined> {
  const signal = file === '-' ? undefined : endingSignal();
  const target = file === '-' ? undefined : await writtenFile(file);
  const write = target?.append ?? writeOut;
  const progress = createProgress(output);
  let records = 0;
  try {
    for await (const { text, count: more } of texts) {
      if (signal?.aborted) throw exportStopped(`The export was stopped; ${file} is as it was.`, 'run it again');
      await write(text);
      records += more;
      progress.show(count(records, noun));
    }
    progress.clear();
    if (target === undefined) return undefined;
    await target.end();
  } catch (error) {
    progress.clear();
    target?.giveUp();
    throw error;
  }
  const text = `${count(records, noun)} ${records === 1 ? 'is' : 'are'} in ${file}.`;
  return { value: { file, [`${noun}s`]: records }, text };
}

/** Error for an export that was stopped by a signal. */
export function exportStopped(message: string, fix: string): CommandError {
  const outcome = process.exitCode === exitCodes.terminated ? 'terminated' : 'interrupted';
  return new CommandError(outcome, 'export_stopped', message, fix);
}

import { resolve } from 'node:path';
import { visible, visibleJson } from '#src/contract/visible.js';
import { systemClock } from '#src/platform/runtime/clock.js';
import { shortLine } from '#src/platform/runtime/log-line.js';
import { command, optionalProject, type ParsedArgs } from '../line/command.js';
import { timeOrAge, validFlag, wholeNumber } from '../line/input.js';
import { isEverything, isSelected, type LogLine, type LogSelection, parseLogLine } from '../serving/log-entries.js';
import { caughtUp, type LogSource, linesOfFile, linesOfJournal } from '../serving/log-source.js';
import { usageError } from '../terminal/exit.js';
import { endAtSignal } from '../terminal/interrupt.js';
import { writeOut } from '../terminal/output.js';

/** Most lines of `--lines`, because they are kept in memory. */
const mostLines = 100_000;

/** `svc logs` */
export const logsCommand = command({
  path: 'logs',
  summary: 'Prints the log of the server, one short line per request, from SVC_LOG_FILE or the journal of systemd',
  options: [
    { flag: '--follow', short: '-f', summary: 'print new lines as they come, until Ctrl+C' },
    {
      flag: '--lines',
      short: '-n',
      value: 'N',
      summary: 'begin with the last N of the selected lines (default: all; 10 with --follow and without --since)',
    },
    { flag: '--status', value: 'CODES', summary: 'only requests with these status codes, such as 4xx or 404,5xx' },
    optionalProject('only lines of this project'),
    { flag: '--since', value: 'TIME', summary: 'only lines since then: a time, or an age such as 1h' },
  ],
  examples: ['svc logs -n 20', 'svc logs --since 1h', 'svc logs --status 4xx,5xx --json > errors.ndjson'],
  needs: 'config',
  run: async ({ args, output, loaded: { config } }) => {
    const selection = selectionOf(args);
    const follows = args.isSet('--follow');
    if (follows) endAtSignal(() => process.exit());
    const newest = newestOf(args);
    const { since } = selection;
    const isUnfiltered = isEverything(selection) && !output.json;
    const source =
      config.logFile === undefined
        ? linesOfJournal(follows, { since, newest: isUnfiltered && newest !== undefined ? newest || 1 : undefined })
        : linesOfFile(resolve(config.logFile), follows);
    const isTerminal = process.stdout.isTTY === true;
    const color = output.color && isTerminal;
    const select = (text: string): string | undefined => {
      const line = parseLogLine(text);
      if (!isSelected(line, selection)) return undefined;
      if (!output.json) return shown(line, isTerminal, color);
      return line.entry === undefined ? undefined : visibleJson(line.text);
    };
    for await (const line of selectedLines(source, select, newest)) await writeOut(`${line}\n`);
    return undefined;
  },
});

/** The number of older lines to begin with; undefined for all. */
function newestOf(args: ParsedArgs): number | undefined {
  const isAll = args.text('--lines') === undefined && (!args.isSet('--follow') || args.text('--since') !== undefined);
  return isAll ? undefined : wholeNumber(args, '--lines', 10, mostLines);
}

/** The selected lines as they are printed: the `newest` of those that the log has already, then those that are appended. */
async function* selectedLines(
  source: LogSource,
  select: (text: string) => string | undefined,
  newest: number | undefined,
): AsyncGenerator<string> {
  let kept: string[] | undefined = newest === undefined ? undefined : [];
  for await (const text of source) {
    if (text === caughtUp) {
      yield* newest ? (kept ?? []).slice(-newest) : [];
      kept = undefined;
      continue;
    }
    const line = select(text);
    if (line === undefined) continue;
    if (kept === undefined || newest === undefined) yield line;
    else if (kept.push(line) >= 2 * newest + 100) kept = newest === 0 ? [] : kept.slice(-newest);
  }
}

function selectionOf(args: ParsedArgs): LogSelection {
  return {
    statuses: statusesOf(args.text('--status')),
    projectId: args.text('--project'),
    since: validFlag(args, '--since', timeOrAge(systemClock)),
  };
}

function statusesOf(text: string | undefined): string[] {
  return (text ?? '')
    .split(',')
    .filter((one) => one !== '')
    .map((one) => {
      if (!/^[1-5](xx|\d\d)$/i.test(one))
        throw usageError(`--status must be codes such as 404, 4xx or 4xx,5xx; it is ${one}.`);
      return one.replace(/xx$/i, '');
    });
}

/** A terminal shows the time of day, with the date of lines of other days. */
function shown({ text, entry }: LogLine, isTerminal: boolean, color: boolean): string {
  if (entry === undefined) return visible(text);
  const [day = '', time = ''] = entry.time.slice(0, 19).split('T');
  const isToday = day === new Date(systemClock.now()).toISOString().slice(0, 10);
  return shortLine(entry, { time: isTerminal ? (isToday ? time : `${day} ${time}`) : entry.time, color });
}

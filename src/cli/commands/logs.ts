import { resolve } from 'node:path';
import { visible, visibleJson } from '#src/contract/visible.js';
import { systemClock } from '#src/platform/runtime/clock.js';
import { shortLine } from '#src/platform/runtime/log-line.js';
import { command, type ParsedArgs } from '../line/command.js';
import { timeOrAge, valid } from '../line/input.js';
import { isSelected, type LogLine, type LogSelection, parseLogLine } from '../serving/log-entries.js';
import { linesOfFile, linesOfJournal } from '../serving/log-source.js';
import { usageError } from '../terminal/exit.js';
import { endAtSignal } from '../terminal/interrupt.js';
import { writeOut } from '../terminal/stream.js';

/** `svc logs` */
export const logsCommand = command({
  path: 'logs',
  summary: 'Prints the log of the server, one short line per request, from SVC_LOG_FILE or the journal of systemd',
  options: [
    { flag: '--follow', short: '-f', summary: 'print new lines as they come, until Ctrl+C' },
    { flag: '--status', value: 'CODES', summary: 'only requests with these status codes, such as 4xx or 404,5xx' },
    { flag: '--project', short: '-p', value: 'ID', summary: 'only lines of this project', values: 'project' },
    { flag: '--since', value: 'TIME', summary: 'only lines since then: a time, or an age such as 1h' },
  ],
  examples: ['svc logs', 'svc logs --since 1h', 'svc logs --status 4xx,5xx --json > errors.ndjson'],
  needs: 'config',
  run: async ({ args, output, loaded: { config } }) => {
    const selection = selectionOf(args);
    const follows = args.isSet('--follow');
    if (follows) endAtSignal(() => process.exit());
    const lines =
      config.logFile === undefined
        ? linesOfJournal(follows, selection.since)
        : linesOfFile(resolve(config.logFile), follows);
    const isTerminal = process.stdout.isTTY === true;
    const color = output.color && isTerminal;
    for await (const text of lines) {
      const line = parseLogLine(text);
      if (!isSelected(line, selection)) continue;
      if (!output.json) await writeOut(`${shown(line, isTerminal, color)}\n`);
      else if (line.entry !== undefined) await writeOut(`${visibleJson(line.text)}\n`);
    }
    return undefined;
  },
});

function selectionOf(args: ParsedArgs): LogSelection {
  const since = args.text('--since');
  return {
    statuses: statusesOf(args.text('--status')),
    projectId: args.text('--project'),
    since: since === undefined ? undefined : valid(timeOrAge(systemClock), '--since', since),
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

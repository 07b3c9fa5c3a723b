import { feedEvents } from '#src/contract/events.js';
import { feedLimits } from '#src/contract/limits.js';
import { RawJson } from '#src/contract/raw-json.js';
import { feedApi } from '#src/features/index.js';
import { type ApplianceCall, projectCommand } from '../line/command.js';
import { timeOrAge, valid, wholeNumber } from '../line/input.js';
import { invokeAsOperator } from '../line/invoke-as-operator.js';
import { usageError } from '../terminal/exit.js';
import { endAtSignal } from '../terminal/interrupt.js';
import { columns, entryLine } from '../terminal/table.js';

/** An event as printed in the feed. */
interface PrintedEvent {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly sequence: number;
  readonly data: { readonly $id?: string };
}

interface PrintedPage {
  readonly events: readonly PrintedEvent[];
  readonly cursor: string;
  readonly more: boolean;
}

const tail = projectCommand({
  path: 'events tail',
  summary: 'Prints the last events of a project, oldest first, and those to come, until Ctrl+C',
  options: [
    { flag: '--limit', value: 'N', summary: 'how many past events, the last ones (default: 20)' },
    {
      flag: '--since',
      value: 'TIME',
      summary: 'past events since a time, such as 2030-01-31T12:00:00Z, or an age, such as 1h or 2d',
    },
    { flag: '--type', value: 'NAME', summary: 'only events of this type', choices: feedEvents, repeated: true },
    { flag: '--once', summary: 'print the past events and end' },
  ],
  examples: [
    'svc events tail --project shop --once',
    'svc events tail --project shop --since 2d --type sessionCreated --once --json',
  ],
  run: async (call) => {
    const { args, runtime, features } = call;
    const limit = wholeNumber(args, '--limit', 20, feedLimits.page);
    const since = args.text('--since');
    if (since !== undefined && args.text('--limit') !== undefined)
      throw usageError('--since and --limit exclude each other.', 'give one of them');
    const { id } = await call.findProject();
    const after =
      since === undefined
        ? await features.feed.before(runtime.db, id, limit, { types: args.list('--type'), resource: undefined })
        : await features.feed.since(runtime.db, id, valid(timeOrAge(runtime.clock), '--since', since));
    const page = await read(call, String(after), since === undefined ? limit : feedLimits.page, 0);
    if (args.isSet('--once')) return { value: page, text: columns(heading, page.events.map(toRow)) };
    await follow(call, page);
    return undefined;
  },
});

/** `svc events …` */
export const eventsCommands = [tail];

const heading = ['SEQUENCE', 'TIME', 'EVENT', 'RESOURCE', 'ID'];
const toRow = ({ sequence, timestamp, type, data, id }: PrintedEvent) => [
  ...[String(sequence), timestamp, type, data.$id ?? '-', id],
];

async function read(call: ApplianceCall, cursor: string, limit: number, wait: number): Promise<PrintedPage> {
  const query = { cursor, limit, wait, types: [...call.args.list('--type')] };
  const reply = await invokeAsOperator(call, feedApi.list, { query });
  // Only clients that ask for a stream get one; otherwise the reply is a page.
  if (!(reply instanceof RawJson)) throw new TypeError('the feed replied with a stream');
  return JSON.parse(reply.text) as PrintedPage;
}

/** Prints new events, page by page. */
async function follow(call: ApplianceCall, first: PrintedPage): Promise<void> {
  let isOver = false;
  const stop = () => {
    isOver = true;
    call.features.streams.stop();
  };
  endAtSignal(stop);
  for (let page = first; ; page = await read(call, page.cursor, feedLimits.page, feedLimits.waitSeconds)) {
    for (const event of page.events) await call.output.entry({ value: event, text: entryLine(toRow(event)) });
    if (isOver) return;
  }
}

import { subscribableEvents } from '#src/contract/events.js';
import { webhookLimits } from '#src/contract/limits.js';
import { webhooksApi } from '#src/features/index.js';
import { command, projectOption } from '../command.js';
import { usageError } from '../exit.js';
import { duration, instant, valid, wholeNumber } from '../input.js';
import { operate } from '../operate.js';
import { columns, pairs } from '../output.js';

const idArgument = { name: 'ID', summary: 'id of the webhook' } as const;

const test = command({
  path: 'webhook test',
  summary: 'Posts a made-up event at once; exit 1 where the receiver does not acknowledge it',
  arguments: [idArgument],
  options: [
    projectOption,
    {
      flag: '--event',
      value: 'NAME',
      summary: 'which event (default: the first that it subscribes to)',
      choices: subscribableEvents,
    },
  ],
  examples: [
    'svc webhook test orders --project shop || echo "see svc webhook deliveries"',
    'svc webhook test orders --project shop --event sessionCreated --json || true',
  ],
  needs: 'appliance',
  run: async (call) => {
    const params = { webhookId: call.typed.argument('ID') };
    const value = await operate(call, webhooksApi.test, { params, body: { event: call.typed.text('--event') } });
    const { ok, statusCode, error, durationMs, event } = value.delivery;
    const text = pairs([
      ['event', event],
      ['acknowledged', ok ? 'yes' : 'no'],
      ['status', statusCode === 0 ? 'none' : String(statusCode)],
      ['error', error || 'none'],
      ['took', `${durationMs} ms`],
    ]);
    return { value, text, exitCode: ok ? 0 : 1 };
  },
});

const list = command({
  path: 'webhook deliveries',
  summary: 'Lists attempts to deliver events to a webhook, newest first',
  arguments: [idArgument],
  options: [projectOption, { flag: '--limit', value: 'N', summary: 'how many at most (default: 20)' }],
  examples: [
    'svc webhook deliveries orders --project shop',
    'svc webhook deliveries orders --project shop --limit 5 --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const limit = wholeNumber(call.typed, '--limit', 20, webhookLimits.page);
    const query = { queries: [JSON.stringify({ method: 'limit', values: [limit] })] };
    const value = await operate(call, webhooksApi.deliveries, {
      params: { webhookId: call.typed.argument('ID') },
      query,
    });
    const rows = value.deliveries.map((one) => [
      ...[one.$createdAt, one.event, one.eventId, String(one.attempt), one.state, String(one.statusCode || 'none')],
      ...[one.error || 'none', one.nextAttemptAt || 'none'],
    ]);
    return { value, text: columns(['TIME', 'EVENT', 'EVENT ID', 'ATTEMPT', 'STATE', 'STATUS', 'ERROR', 'NEXT'], rows) };
  },
});

const replay = command({
  path: 'webhook replay',
  summary: 'Delivers events once more, with the same ids; a running server begins within a second',
  arguments: [idArgument],
  options: [
    projectOption,
    { flag: '--since', value: 'TIME', summary: 'all that were given up, of events since then' },
    { flag: '--event', value: 'ID', summary: 'this event, whatever became of it' },
  ],
  examples: [
    'svc webhook replay orders --project shop --since 2026-01-01T00:00:00Z',
    'svc webhook replay orders --project shop --since 2026-01-01T00:00:00Z --json',
  ],
  needs: 'appliance',
  run: async ({ typed, appliance: { platform, features }, by }) => {
    const [since, event] = [typed.text('--since'), typed.text('--event')];
    const project = await features.projects.get(platform.db, typed.required('--project'));
    const webhook = await features.webhooks.get(platform.db, project.id, typed.argument('ID'));
    if ((since === undefined) === (event === undefined))
      throw usageError('Say what to replay.', 'give --since TIME or --event ID');
    const selection = event !== undefined ? { event } : { since: valid(instant, '--since', since) };
    const replayed = await features.webhooks.replaySome(by(project.id), webhook, selection);
    return { value: { replayed }, text: `Deliveries made again: ${replayed}.` };
  },
});

const rotate = command({
  path: 'webhook rotate-secret',
  summary: 'Gives a webhook another signing secret, printed this once; the old one signs too for a while',
  arguments: [idArgument],
  options: [
    projectOption,
    { flag: '--overlap', value: 'DURATION', summary: 'for how long, such as 90m, 24h or 0s (default: 24h)' },
  ],
  examples: [
    'svc webhook rotate-secret orders --project shop',
    'svc webhook rotate-secret orders --project shop --overlap 2h --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const given = call.typed.text('--overlap');
    const body = given === undefined ? {} : { overlap: valid(duration, '--overlap', given) };
    const value = await operate(call, webhooksApi.rotate, { params: { webhookId: call.typed.argument('ID') }, body });
    const text = pairs([
      ['id', value.$id],
      ['secret', value.secret],
    ]);
    return { value, text, next: 'keep the secret; it cannot be shown again' };
  },
});

/** The commands about what is delivered. */
export const webhookDeliveryCommands = [test, list, replay, rotate];

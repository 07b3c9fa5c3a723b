import { subscribableEvents } from '#src/contract/events.js';
import { webhookLimits } from '#src/contract/limits.js';
import type { HandlerResult } from '#src/contract/operation.js';
import { webhooksApi } from '#src/features/index.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import { projectCommand } from '../line/command.js';
import { durationUpTo, pageLimit, timeOrAge, valid, validFlag } from '../line/input.js';
import { invokeAsOperator } from '../line/invoke-as-operator.js';
import { usageError } from '../terminal/exit.js';
import { columns, pairs } from '../terminal/table.js';
import { webhookArgument, webhookOf } from './webhook.js';

const test = projectCommand({
  path: 'webhook test',
  summary: 'Sends a test event at once. Exit code 1 if the receiver does not return 2xx',
  arguments: [webhookArgument],
  options: [
    {
      flag: '--event',
      value: 'NAME',
      summary: 'type of the event (default: the first event of the webhook)',
      choices: subscribableEvents,
    },
  ],
  examples: [
    'svc webhook test orders --project shop || echo "see svc webhook deliveries"',
    'svc webhook test orders --project shop --event sessionCreated --json || true',
  ],
  run: async (call) => {
    const body = { event: call.args.text('--event') };
    const value = await invokeAsOperator(call, webhooksApi.test, { params: webhookOf(call), body });
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

const list = projectCommand({
  path: 'webhook deliveries',
  summary: 'Lists the deliveries of a webhook with their attempts, newest first',
  arguments: [webhookArgument],
  options: [{ flag: '--limit', value: 'N', summary: 'maximum number of attempts (default: 20)' }],
  examples: [
    'svc webhook deliveries orders --project shop',
    'svc webhook deliveries orders --project shop --limit 5 --json',
  ],
  run: async (call) => {
    const limit = pageLimit(call.args, 20, webhookLimits.page);
    const query = { queries: [JSON.stringify({ method: 'limit', values: [limit] })] };
    const value = await invokeAsOperator(call, webhooksApi.deliveries, { params: webhookOf(call), query });
    const byDelivery = new Map<string, WireAttempt[]>();
    for (const one of value.deliveries)
      byDelivery.set(one.deliveryId, [one, ...(byDelivery.get(one.deliveryId) ?? [])]);
    const rows = [...byDelivery.values()].map((attempts) => {
      const last = attempts.at(-1) as WireAttempt;
      const { $createdAt, event, eventId } = last;
      return [$createdAt, event, eventId, stateOf(last), timeline(attempts)];
    });
    const heading = ['LAST', 'EVENT', 'EVENT ID', 'STATE', 'ANSWERS'];
    return { value, text: columns(heading, rows, { sentences: true, whole: ['EVENT'] }) };
  },
});

const replay = projectCommand({
  path: 'webhook replay',
  summary: 'Delivers events again, with the same ids. A running server starts sending within a second',
  arguments: [webhookArgument],
  options: [
    {
      flag: '--since',
      value: 'TIME',
      summary: 'replay undelivered events since a time, such as 2030-01-31T12:00:00Z, or an age, such as 1h or 2d',
    },
    { flag: '--all', summary: 'with --since: replay delivered events too' },
    { flag: '--event', value: 'ID', summary: 'replay this event, delivered or not' },
  ],
  examples: [
    'svc webhook replay orders --project shop --since 2026-01-01T00:00:00Z',
    'svc webhook replay orders --project shop --since 2d --all --json',
  ],
  run: async ({ args, runtime, features, findProject, auditContext }) => {
    const [since, event] = [args.text('--since'), args.text('--event')];
    const all = args.isSet('--all');
    if (since !== undefined && event !== undefined)
      throw usageError('--since and --event exclude each other.', 'give one of them');
    if (since === undefined && event === undefined)
      throw all
        ? usageError(
            '--all needs the time from which on all deliveries are made again.',
            'add --since TIME, such as 2d',
          )
        : usageError('Nothing to replay is given.', 'give --since TIME or --event ID');
    if (all && event !== undefined)
      throw usageError('--all can only be used with --since.', 'leave it out, or add --since TIME');
    const project = await findProject();
    const webhook = await features.webhooks.get(runtime.db, project.id, args.argument('ID'));
    const replayed =
      event !== undefined
        ? await features.webhooks.replayEvent(auditContext(project.id), webhook, event)
        : await features.webhooks.replaySome(auditContext(project.id), webhook, {
            since: valid(timeOrAge(runtime.clock), '--since', since),
            all,
          });
    return {
      value: { replayed },
      text: `Deliveries made again: ${replayed}.`,
      ...(replayed === 0 && !all ? { next: 'to replay what was delivered, too, add --all' } : {}),
    };
  },
});

const rotate = projectCommand({
  path: 'webhook rotate-secret',
  summary:
    'Replaces the signing secret of a webhook and prints the new one. For a while, deliveries are also signed with the old one',
  arguments: [webhookArgument],
  options: [{ flag: '--overlap', value: 'DURATION', summary: 'how long the old secret signs too (default: 24h)' }],
  examples: [
    'svc webhook rotate-secret orders --project shop',
    'svc webhook rotate-secret orders --project shop --overlap 2h --json',
  ],
  run: async (call) => {
    const overlap = validFlag(call.args, '--overlap', durationUpTo(webhookLimits.maxOverlapSeconds));
    const value = await invokeAsOperator(call, webhooksApi.rotate, { params: webhookOf(call), body: { overlap } });
    const until = value.previousSecretUntil;
    const text = pairs([
      ['id', value.$id],
      ['secret', value.secret],
      ['old one signs until', until === '' ? 'now' : instantOf(Date.parse(until))],
    ]);
    return { value, text, next: 'keep the secret; it cannot be shown again' };
  },
});

/** An attempt in the reply of the list. */
type WireAttempt = HandlerResult<typeof webhooksApi.deliveries>['deliveries'][number];

/** The state of a delivery in words. A test has only one attempt. */
function stateOf({ test: isTest, ok, state }: WireAttempt): string {
  if (!isTest) return state;
  return ok ? 'test delivered' : 'test failed';
}

/** Lists the responses of a delivery, oldest first, each with the time since the previous one: `HTTP 500; +5s timed out; +5m next`. */
function timeline(attempts: readonly WireAttempt[]): string {
  const parts = attempts.map(({ $createdAt, attempt, statusCode, error }, at) => {
    const before = attempts[at - 1];
    const outcome = statusCode === 0 ? error : `HTTP ${statusCode}`;
    if (before !== undefined) return `+${span(Date.parse($createdAt) - Date.parse(before.$createdAt))} ${outcome}`;
    return attempt > 1 ? `(${attempt - 1} earlier) ${outcome}` : outcome;
  });
  const last = attempts.at(-1);
  // Relative to the previous attempt, like the other times. The due time itself may have passed while the attempt is queued.
  if (last?.nextAttemptAt) parts.push(`+${span(Date.parse(last.nextAttemptAt) - Date.parse(last.$createdAt))} next`);
  return parts.join('; ');
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
] as const;

/** Formats milliseconds in the largest unit. */
function span(ms: number): string {
  const [unit, length] = units.find(([, one]) => ms >= one) ?? ['s', 1000];
  return `${Math.round(ms / length)}${unit}`;
}

/** The commands for deliveries. */
export const webhookDeliveryCommands = [test, list, replay, rotate];

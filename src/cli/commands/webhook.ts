import { everyEvent, feedOnlyEvents, subscribableEvents } from '#src/contract/events.js';
import type { HandlerResult } from '#src/contract/operation.js';
import { webhooksApi } from '#src/features/index.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import { choiceOf, notAChoice } from '../line/choices.js';
import {
  type ApplianceCall,
  type CommandCall,
  type CommandResult,
  type ParsedArgs,
  projectCommand,
} from '../line/command.js';
import { commaList, readSecretFile } from '../line/input.js';
import { invokeAsOperator } from '../line/invoke-as-operator.js';
import { idOption, inGroup, onOrOff, requireChange, switchOption } from '../line/options.js';
import { noteMore, wholeList } from '../line/page.js';
import { shellWord, usageError } from '../terminal/exit.js';
import { columns, pairs } from '../terminal/table.js';

/** The argument with the id of a webhook. */
export const webhookArgument = { name: 'ID', summary: 'id of the webhook', values: 'webhook' } as const;
/** The webhook of a command. */
export const webhookOf = ({ args }: CommandCall) => ({ webhookId: args.argument('ID') });

const name = { flag: '--name', value: 'NAME', summary: 'display name' } as const;
const url = { flag: '--url', value: 'URL', summary: 'https URL that receives the events' } as const;
const events = {
  flag: '--events',
  value: 'EVENTS',
  summary: 'events separated by commas, such as documentCreated,sessionDeleted, or * for all',
} as const;
const enabled = switchOption('--enabled', 'off stops deliveries (default: on)');
const tls = switchOption('--tls', 'off accepts any certificate and needs SVC_WEBHOOK_ALLOW_INSECURE (default: on)');
const authentication = inGroup('Authentication', [
  { flag: '--auth-username', value: 'NAME', summary: 'user name for Basic authentication' },
  { flag: '--auth-password-file', value: 'FILE', summary: 'file with the password for Basic authentication' },
]);

const inputOf = (args: ParsedArgs) => {
  const names = args.text('--events');
  const file = args.text('--auth-password-file');
  return {
    name: args.text('--name'),
    url: args.text('--url'),
    events: names === undefined ? undefined : eventsIn(names, args.required('--project')),
    authUsername: args.text('--auth-username'),
    authPassword: file === undefined ? undefined : readSecretFile(file, '--auth-password-file'),
    ...onOrOff(args, enabled),
    ...onOrOff(args, tls),
  };
};

/** Parses a list of events. Throws CommandError for an unknown one. */
function eventsIn(list: string, project: string): string[] {
  const taken = [everyEvent, ...subscribableEvents];
  const names = commaList(list);
  const unknown = names.find((name) => choiceOf(name, taken) === undefined);
  if (feedOnlyEvents.some((name) => name === unknown))
    throw usageError(
      `Webhooks do not get ${unknown}; they get ${subscribableEvents.join(', ')}.`,
      `the feed has it: svc events tail --project ${shellWord(project)} --type ${unknown}, or GET /events`,
    );
  if (unknown !== undefined) throw notAChoice(names.length === 1 ? '--events' : 'Each of --events', unknown, taken);
  return names;
}

const add = projectCommand({
  path: 'webhook add',
  summary: 'Creates a webhook and prints its signing secret, which is never shown again',
  options: [
    { ...name, required: true },
    { ...url, required: true },
    { ...events, required: true },
    idOption,
    enabled,
    tls,
    ...authentication,
  ],
  examples: [
    'svc webhook add --project shop --name Orders --url https://hooks.example.com/svc --events documentCreated,documentUpdated --id orders',
    'svc webhook add --project shop --name Audit --url https://hooks.example.com/all --events "*" --id audit --json',
  ],
  run: async (call) => {
    const body = { webhookId: call.args.text('--id') ?? 'unique()', ...inputOf(call.args) };
    const made = await invokeAsOperator(call, webhooksApi.create, { body });
    return { ...shownWebhook(call, made), next: 'keep the secret; it cannot be shown again' };
  },
});

const list = projectCommand({
  path: 'webhook list',
  summary: 'Lists the webhooks of a project',
  examples: ['svc webhook list --project shop', 'svc webhook list --project shop --json'],
  run: async (call) => {
    const value = await invokeAsOperator(call, webhooksApi.list, { query: wholeList });
    noteMore(call, value.webhooks.length, value.total);
    const rows = value.webhooks.map((one) => [
      ...[one.$id, one.name, one.url, one.events.join(','), one.enabled ? 'on' : 'off', String(one.attempts)],
    ]);
    return { value, text: columns(['ID', 'NAME', 'URL', 'EVENTS', 'ENABLED', 'FAILURES'], rows) };
  },
});

const show = projectCommand({
  path: 'webhook show',
  summary: 'Shows a webhook and its last failure',
  arguments: [webhookArgument],
  examples: ['svc webhook show orders --project shop', 'svc webhook show orders --project shop --json'],
  run: async (call) => shownWebhook(call, await invokeAsOperator(call, webhooksApi.get, { params: webhookOf(call) })),
});

const update = projectCommand({
  path: 'webhook update',
  summary: 'Changes a webhook. Enabling it resets its failure count; disabling it discards waiting deliveries',
  arguments: [webhookArgument],
  options: [name, url, events, enabled, tls, ...authentication],
  examples: [
    'svc webhook update orders --project shop --events "*"',
    'svc webhook update audit --project shop --enabled off --json',
  ],
  run: async (call) => {
    const body = inputOf(call.args);
    requireChange(body, 'give at least one flag; svc webhook update --help lists them');
    const changed = await invokeAsOperator(call, webhooksApi.update, { params: webhookOf(call), body });
    return shownWebhook(call, changed);
  },
});

const remove = projectCommand({
  path: 'webhook remove',
  summary: 'Removes a webhook and its deliveries',
  arguments: [webhookArgument],
  examples: ['svc webhook remove audit --project shop --yes', 'svc webhook remove orders --project shop --yes --json'],
  run: async (call): Promise<CommandResult> => {
    const params = webhookOf(call);
    const { $id, name: called } = await invokeAsOperator(call, webhooksApi.get, { params });
    await call.prompts.confirm(`Remove the webhook ${called} (${$id}) with its deliveries?`);
    await invokeAsOperator(call, webhooksApi.delete, { params });
    return { value: { $id, removed: true }, text: `Webhook ${$id} is removed.` };
  },
});

/** `svc webhook add`, `list`, `show`, `update` */
export const webhookCommands = [add, list, show, update];
/** `svc webhook remove`, listed after the commands whose examples use the webhooks. */
export const webhookRemoval = [remove];

function shownWebhook({ runtime }: ApplianceCall, webhook: HandlerResult<typeof webhooksApi.get>): CommandResult {
  // NaN if no secrets overlap, because the text is empty.
  const until = Date.parse(webhook.previousSecretUntil);
  return {
    value: webhook,
    text: pairs([
      ['id', webhook.$id],
      ['name', webhook.name],
      ['url', webhook.url],
      ['events', webhook.events.join(', ')],
      ['enabled', webhook.enabled ? 'on' : 'off'],
      ['failures', webhook.attempts === 0 ? 'none' : `${webhook.attempts}, the last: ${webhook.logs}`],
      ...(webhook.secret === '' ? [] : [['secret', webhook.secret] as const]),
      ...(until > runtime.clock.now() ? [['old secret signs until', instantOf(until)] as const] : []),
    ]),
  };
}

import { webhooksApi } from '#src/features/index.js';
import type { Answer } from '../answer.js';
import { command, projectOption, type Typed } from '../command.js';
import { usageError } from '../exit.js';
import { onOrOff, readSecretFile, switchOption } from '../input.js';
import { operate } from '../operate.js';
import { columns, pairs } from '../output.js';

const idArgument = { name: 'ID', summary: 'id of the webhook' } as const;
const name = { flag: '--name', value: 'NAME', summary: 'what people call it' } as const;
const url = { flag: '--url', value: 'URL', summary: 'https address that receives the events' } as const;
const events = {
  flag: '--events',
  value: 'EVENTS',
  summary: 'names separated by commas, such as documentCreated,sessionDeleted, or * for all',
} as const;
const enabled = switchOption('--enabled', 'off: nothing is delivered (default: on)');
const tls = switchOption('--tls', 'off: any certificate will do; needs SVC_WEBHOOK_ALLOW_INSECURE (default: on)');
const authentication = [
  { flag: '--auth-username', value: 'NAME', summary: 'name for Basic authentication', group: 'Authentication' },
  {
    flag: '--auth-password-file',
    value: 'FILE',
    summary: 'file that holds the password for it',
    group: 'Authentication',
  },
] as const;

const given = (typed: Typed) => {
  const names = typed.text('--events');
  const file = typed.text('--auth-password-file');
  return {
    name: typed.text('--name'),
    url: typed.text('--url'),
    events: names?.split(',').map((event) => event.trim()),
    authUsername: typed.text('--auth-username'),
    authPassword: file === undefined ? undefined : readSecretFile(file),
    ...onOrOff(typed, enabled),
    ...onOrOff(typed, tls),
  };
};

const add = command({
  path: 'webhook add',
  summary: 'Subscribes an address to events; its signing secret is printed this once',
  options: [
    projectOption,
    { ...name, required: true },
    { ...url, required: true },
    { ...events, required: true },
    { flag: '--id', value: 'ID', summary: 'an id of your choice (default: a new one)' },
    enabled,
    tls,
    ...authentication,
  ],
  examples: [
    'svc webhook add --project shop --name Orders --url https://hooks.example.com/svc --events documentCreated,documentUpdated --id orders',
    'svc webhook add --project shop --name Audit --url https://hooks.example.com/all --events "*" --id audit --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const body = { webhookId: call.typed.text('--id') ?? 'unique()', ...given(call.typed) };
    const made = await operate(call, webhooksApi.create, { body });
    return { ...shownWebhook(made), next: 'keep the secret; it cannot be shown again' };
  },
});

const list = command({
  path: 'webhook list',
  summary: 'Lists the webhooks of a project',
  options: [projectOption],
  examples: ['svc webhook list --project shop', 'svc webhook list --project shop --json'],
  needs: 'appliance',
  run: async (call) => {
    const value = await operate(call, webhooksApi.list);
    const rows = value.webhooks.map((one) => [
      ...[one.$id, one.name, one.url, one.events.join(','), one.enabled ? 'on' : 'off', String(one.attempts)],
    ]);
    return { value, text: columns(['ID', 'NAME', 'URL', 'EVENTS', 'ENABLED', 'FAILURES'], rows) };
  },
});

const show = command({
  path: 'webhook show',
  summary: 'Shows a webhook and its last failure',
  arguments: [idArgument],
  options: [projectOption],
  examples: ['svc webhook show orders --project shop', 'svc webhook show orders --project shop --json'],
  needs: 'appliance',
  run: async (call) =>
    shownWebhook(await operate(call, webhooksApi.get, { params: { webhookId: call.typed.argument('ID') } })),
});

const update = command({
  path: 'webhook update',
  summary: 'Changes a webhook; enabling it forgets its failures, disabling it gives up what waits',
  arguments: [idArgument],
  options: [projectOption, name, url, events, enabled, tls, ...authentication],
  examples: [
    'svc webhook update orders --project shop --events "*"',
    'svc webhook update audit --project shop --enabled off --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const body = given(call.typed);
    if (Object.values(body).every((value) => value === undefined))
      throw usageError('There is nothing to change.', 'svc webhook update --help');
    return shownWebhook(
      await operate(call, webhooksApi.update, { params: { webhookId: call.typed.argument('ID') }, body }),
    );
  },
});

const remove = command({
  path: 'webhook remove',
  summary: 'Removes a webhook with its deliveries',
  arguments: [idArgument],
  options: [projectOption],
  examples: ['svc webhook remove audit --project shop --yes', 'svc webhook remove orders --project shop --yes --json'],
  needs: 'appliance',
  run: async (call): Promise<Answer> => {
    const params = { webhookId: call.typed.argument('ID') };
    const { $id, name: called } = await operate(call, webhooksApi.get, { params });
    await call.prompts.confirm(`Remove the webhook ${called} (${$id}) with its deliveries?`);
    await operate(call, webhooksApi.delete, { params });
    return { value: { $id, removed: true }, text: `Webhook ${$id} is removed.` };
  },
});

/** `svc webhook add`, `list`, `show`, `update` */
export const webhookCommands = [add, list, show, update];
/** `svc webhook remove`, listed after those that work on what there is. */
export const webhookRemoval = [remove];

function shownWebhook(webhook: {
  $id: string;
  name: string;
  url: string;
  events: string[];
  enabled: boolean;
  attempts: number;
  logs: string;
  secret: string;
}): Answer {
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
    ]),
  };
}

import { addressBelow } from '#src/contract/web-address.js';
import type { ListedMail, ShownMail } from '#src/features/index.js';
import { isOnLocalhost } from '#src/platform/config/localhost.js';
import { type ApplianceCall, type CommandResult, command, optionalProject } from '../line/command.js';
import { pageLimit } from '../line/input.js';
import { conflictError, notFoundError, usageError } from '../terminal/exit.js';
import { Lines } from '../terminal/lines.js';
import { columns, pairs } from '../terminal/table.js';

const projectOption = optionalProject('only mails of this project');
const maxListed = 1000;

const list = command({
  path: 'mail list',
  summary: 'Lists mails and SMS with their state, newest first',
  options: [projectOption, { flag: '--limit', value: 'N', summary: 'maximum number of entries (default: 20)' }],
  examples: ['svc mail list', 'svc mail list --project shop --limit 5 --json'],
  run: async (call) => {
    const { runtime, features } = call;
    const limit = pageLimit(call.args, 20, maxListed);
    const mails = await features.courier.mailbox.list(runtime.db, await projectOf(call), limit);
    const rows = mails.map((mail) => [
      ...[mail.$id, mail.$createdAt, mail.projectId, mail.message, mail.to, mail.state, mail.subject || '-'],
    ]);
    return { value: { mails }, text: columns(['ID', 'TIME', 'PROJECT', 'MESSAGE', 'TO', 'STATE', 'SUBJECT'], rows) };
  },
});

const show = command({
  path: 'mail show',
  summary: 'Shows a mail or SMS. Its text is shown while it waits, or if no mail server is configured',
  arguments: [{ name: 'ID', summary: 'id of the mail', optional: true }],
  options: [{ flag: '--last', summary: 'show the newest mail' }, projectOption],
  examples: ['svc mail show --last || echo "no mail yet"', 'svc mail show --last --project shop || echo "no mail yet"'],
  run: async (call) => {
    const { runtime, features } = call;
    const id = call.args.optionalArgument('ID');
    if ((id === undefined) !== call.args.isSet('--last')) throw usageError('No mail is given.', 'give an ID or --last');
    const mail = await features.courier.mailbox.find(runtime.db, await projectOf(call), id ?? null);
    if (mail === undefined) {
      const message = id === undefined ? 'There is no mail yet.' : `There is no mail ${id}.`;
      throw notFoundError('mail_not_found', message, 'svc mail list');
    }
    return shown(mail);
  },
});

const open = command({
  path: 'mail open',
  summary:
    'Prints a link that opens the mailbox in a browser on this machine, once and for ten minutes. For installations without a mail server',
  examples: ['svc mail open', 'svc mail open --json'],
  run: async ({ features, loaded: { config } }) => {
    if (config.smtpUrl !== undefined)
      throw conflictError('mailbox_unavailable', 'Mails are sent to a mail server.', 'svc mail list');
    if (!isOnLocalhost(config.baseUrl))
      throw conflictError(
        'mailbox_unavailable',
        'The mailbox opens in a browser only while SVC_BASE_URL is on localhost.',
        'svc mail show --last',
      );
    const url = addressBelow(config.baseUrl, 'mailbox', { token: features.courier.mailboxAccess.issue() }).href;
    return { value: { url }, text: Lines.text(url), next: 'open it in a browser on this machine while svc serve runs' };
  },
});

/** `svc mail list`, `show`, `open` */
export const mailboxCommands = [list, show, open];

async function projectOf({ args, findProject }: ApplianceCall): Promise<string | null> {
  return args.isGiven('--project') ? (await findProject()).id : null;
}

function shown(mail: ShownMail): CommandResult {
  const head = pairs([
    ['id', mail.$id],
    ['to', mail.to],
    ...(mail.subject === '' ? [] : [['subject', mail.subject] as const]),
    ['state', stateOf(mail)],
    ['sent', mail.state === 'kept' ? 'no; it is kept here' : (mail.sentAt ?? 'no')],
  ]);
  return { value: mail, text: Lines.parts([head, Lines.text(mail.text.trimEnd() || 'The text is no longer stored.')]) };
}

function stateOf({ state, attempts, error }: ListedMail): string {
  if (error === '') return state;
  return `${state}, attempts: ${attempts}, the last: ${error}`;
}

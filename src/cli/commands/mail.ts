import type { ListedMail, ShownMail } from '#src/features/index.js';
import type { Answer } from '../answer.js';
import { type ApplianceCall, command } from '../command.js';
import { CommandError, usageError } from '../exit.js';
import { wholeNumber } from '../input.js';
import { columns, pairs } from '../output.js';

const projectOption = { flag: '--project', value: 'ID', summary: 'only those of this project' } as const;
const mostListed = 1000;

const list = command({
  path: 'mail list',
  summary: 'Lists mails and SMS, newest first, with what became of them',
  options: [projectOption, { flag: '--limit', value: 'N', summary: 'how many at most (default: 20)' }],
  examples: ['svc mail list', 'svc mail list --project shop --limit 5 --json'],
  needs: 'appliance',
  run: async (call) => {
    const { platform, features } = call.appliance;
    const limit = wholeNumber(call.typed, '--limit', 20, mostListed);
    const mails = await features.courier.mailbox.list(platform.db, await projectOf(call), limit);
    const rows = mails.map((mail) => [
      ...[mail.$id, mail.$createdAt, mail.projectId, mail.message, mail.to, mail.state, mail.subject || '-'],
    ]);
    return { value: { mails }, text: columns(['ID', 'TIME', 'PROJECT', 'MESSAGE', 'TO', 'STATE', 'SUBJECT'], rows) };
  },
});

const show = command({
  path: 'mail show',
  summary: 'Shows a mail or SMS; its text as long as it waits, or is kept because no mail server is configured',
  arguments: [{ name: 'ID', summary: 'id of the mail', optional: true }],
  options: [{ flag: '--last', summary: 'the newest' }, projectOption],
  examples: ['svc mail show --last || echo "no mail yet"', 'svc mail show --last --project shop || echo "no mail yet"'],
  needs: 'appliance',
  run: async (call) => {
    const { platform, features } = call.appliance;
    const id = call.typed.optionalArgument('ID');
    if ((id === undefined) !== call.typed.isSet('--last'))
      throw usageError('Say which mail to show.', 'give an ID or --last');
    const mail = await features.courier.mailbox.find(platform.db, await projectOf(call), id ?? null);
    if (mail === undefined) {
      const message = id === undefined ? 'There is no mail yet.' : `There is no mail ${id}.`;
      throw new CommandError('notFound', 'mail_not_found', message, 'svc mail list');
    }
    return shown(mail);
  },
});

/** `svc mail list`, `show` */
export const mailboxCommands = [list, show];

async function projectOf({ typed, appliance: { platform, features } }: ApplianceCall): Promise<string | null> {
  const id = typed.text('--project');
  return id === undefined ? null : (await features.projects.get(platform.db, id)).id;
}

function shown(mail: ShownMail): Answer {
  const head = pairs([
    ['id', mail.$id],
    ['to', mail.to],
    ...(mail.subject === '' ? [] : [['subject', mail.subject] as const]),
    ['state', stateOf(mail)],
    ['sent', mail.sentAt ?? 'no'],
  ]);
  return { value: mail, text: `${head}\n\n${mail.text.trimEnd() || 'Its text is no longer kept.'}` };
}

function stateOf({ state, attempts, error }: ListedMail): string {
  if (error === '') return state;
  return `${state}, attempts: ${attempts}, the last: ${error}`;
}

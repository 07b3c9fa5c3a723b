import { emailAddress } from '#src/contract/shapes.js';
import { createTexts, lintTexts, messageNames, sampleVariables } from '#src/features/index.js';
import { createTemplates, type Fault } from '#src/platform/templates.js';
import { command } from '../command.js';
import { CommandError } from '../exit.js';
import { valid } from '../input.js';
import { pairs } from '../output.js';
import { localeOf, localeOption, sendTest } from './test-message.js';

const preview = command({
  path: 'mail preview',
  summary: 'Prints a message with sample values; exit 1 with file and line where one of its texts has a fault',
  arguments: [{ name: 'MESSAGE', summary: 'its name, such as recovery', choices: messageNames }],
  options: [localeOption, { flag: '--html', summary: 'print the HTML' }],
  examples: ['svc mail preview recovery', 'svc mail preview email-code --locale de --json'],
  needs: 'config',
  run: async ({ typed, loaded: { config } }) => {
    const name = typed.argument('MESSAGE');
    const message = messageNames.find((one) => one === name);
    if (message === undefined) {
      const known = `There is no message ${name}; there are: ${messageNames.join(', ')}.`;
      throw new CommandError('notFound', 'message_not_found', known, 'svc mail preview recovery');
    }
    const templates = createTemplates(config);
    demandSound(await lintTexts(templates, [message]));
    const asked = localeOf(typed);
    const samples = { ...sampleVariables, project: 'Shop', name: 'Ada' };
    const { language, subject, text, html } = await createTexts(templates, () => {}).compose(message, asked, samples);
    const plain = subject === '' ? text : `${pairs([['subject', subject]])}\n\n${text.trimEnd()}`;
    return { value: { message, locale: language, subject, text, html }, text: typed.isSet('--html') ? html : plain };
  },
});

const check = command({
  path: 'mail check',
  summary: 'Looks for faults in the texts of all messages in all languages; exit 1 with file and line of each',
  examples: ['svc mail check', 'svc mail check --json'],
  needs: 'config',
  run: async ({ loaded: { config } }) => {
    const templates = createTemplates(config);
    demandSound(await lintTexts(templates, messageNames));
    const languages = await templates.folders('emails');
    return { value: { ok: true, languages }, text: `The texts are sound (${languages.join(', ')}).` };
  },
});

const test = command({
  path: 'mail test',
  summary: 'Sends a test mail at once; exit 1 with the words of the mail server where it refuses, 6 where it is away',
  options: [{ flag: '--to', value: 'ADDRESS', summary: 'who gets it', required: true }, localeOption],
  examples: [
    'svc mail test --to ada@example.com || echo "is SVC_SMTP_URL right?"',
    'svc mail test --to ada@example.com --locale de || echo "is SVC_SMTP_URL right?"',
  ],
  needs: 'appliance',
  run: async ({ typed, appliance }) =>
    sendTest(appliance, 'mail', valid(emailAddress, '--to', typed.required('--to')), localeOf(typed)),
});

/** The commands about the texts of messages, and the test of the mail server. */
export const mailTextCommands = [preview, check, test];

/** Throws with every fault on a line of its own, as compilers print them. */
function demandSound(faults: readonly Fault[]): void {
  if (faults.length === 0) return;
  const lines = faults.map(({ file, line, message }) => `${file}:${line}: ${message}`);
  throw new CommandError(
    'failed',
    'template_faulty',
    lines.join('\n'),
    'correct the file, or remove it to have the text of svc',
  );
}

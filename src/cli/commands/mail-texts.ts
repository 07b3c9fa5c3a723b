import { createTexts, lintTexts, messageNames, sampleVariables } from '#src/features/index.js';
import { createTemplates, type Fault } from '#src/platform/templates/templates.js';
import { command } from '../line/command.js';
import { failedError, notFoundError } from '../terminal/exit.js';
import { Lines } from '../terminal/lines.js';
import { pairs } from '../terminal/table.js';
import { localeOf, localeOption, mailTest } from './test-message.js';

const preview = command({
  path: 'mail preview',
  summary: 'Prints a message with sample values. Exit code 1, with file and line, if a template has an error',
  arguments: [{ name: 'MESSAGE', summary: 'name of the message, such as recovery', choices: messageNames }],
  options: [localeOption, { flag: '--html', summary: 'print the HTML version' }],
  examples: ['svc mail preview recovery', 'svc mail preview email-code --locale de --json'],
  needs: 'config',
  run: async ({ args, loaded: { config } }) => {
    const name = args.argument('MESSAGE');
    const message = messageNames.find((one) => one === name);
    if (message === undefined) {
      const problem = `There is no message ${name}. The messages are: ${messageNames.join(', ')}.`;
      throw notFoundError('message_not_found', problem, 'give one of these names');
    }
    const templates = createTemplates(config);
    requireValid(await lintTexts(templates, [message]));
    const requested = localeOf(args);
    const samples = { ...sampleVariables, project: 'Shop', name: 'Ada' };
    const { language, subject, text, html } = await createTexts(templates, () => {}).compose(
      message,
      requested,
      samples,
    );
    const head = subject === '' ? [] : [pairs([['subject', subject]])];
    const plain = Lines.parts([...head, Lines.text(text.trimEnd())]);
    const value = { message, locale: language, subject, text, html };
    return { value, text: args.isSet('--html') ? Lines.text(html) : plain };
  },
});

const check = command({
  path: 'mail check',
  summary: 'Checks the templates of all messages. Exit code 1, with file and line, if any has an error',
  examples: ['svc mail check', 'svc mail check --json'],
  needs: 'config',
  run: async ({ loaded: { config } }) => {
    const templates = createTemplates(config);
    requireValid(await lintTexts(templates, messageNames));
    const languages = await templates.folders('emails');
    return { value: { ok: true, languages }, text: `The templates are valid (${languages.join(', ')}).` };
  },
});

/** The commands for message templates, and the test of the mail server. */
export const mailTextCommands = [preview, check, mailTest];

/** Throws with one line per fault, in the format of compilers. */
function requireValid(faults: readonly Fault[]): void {
  if (faults.length === 0) return;
  const lines = faults.map(({ file, line, message }) => `${file}:${line}: ${message}`);
  throw failedError('template_faulty', lines, 'correct the file, or remove it to use that of svc');
}

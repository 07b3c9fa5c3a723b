import { phoneNumber } from '#src/contract/shapes.js';
import { command } from '../line/command.js';
import { valid } from '../line/input.js';
import { localeOf, localeOption, sendTest } from './test-message.js';

const test = command({
  path: 'sms test',
  summary: 'Sends a test SMS at once. Exit code 1 if the gateway refuses it, 6 if the gateway cannot be reached',
  options: [
    { flag: '--to', value: 'NUMBER', summary: 'the recipient, such as +14155550123', required: true },
    localeOption,
  ],
  examples: [
    'svc sms test --to +14155550123 || echo "is SVC_SMS_URL right?"',
    'svc sms test --to +14155550123 --locale es || echo "is SVC_SMS_URL right?"',
  ],
  needs: 'appliance',
  run: async ({ args, appliance }) =>
    sendTest(appliance, 'sms', valid(phoneNumber, '--to', args.required('--to')), localeOf(args)),
});

/** `svc sms …` */
export const smsCommands = [test];

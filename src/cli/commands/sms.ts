import { phoneNumber } from '#src/contract/shapes.js';
import { command } from '../command.js';
import { valid } from '../input.js';
import { localeOf, localeOption, sendTest } from './test-message.js';

const test = command({
  path: 'sms test',
  summary: 'Sends a test SMS at once; exit 1 with the words of the gateway where it refuses, 6 where it is away',
  options: [
    { flag: '--to', value: 'NUMBER', summary: 'who gets it, such as +14155550123', required: true },
    localeOption,
  ],
  examples: [
    'svc sms test --to +14155550123 || echo "is SVC_SMS_URL right?"',
    'svc sms test --to +14155550123 --locale es || echo "is SVC_SMS_URL right?"',
  ],
  needs: 'appliance',
  run: async ({ typed, appliance }) =>
    sendTest(appliance, 'sms', valid(phoneNumber, '--to', typed.required('--to')), localeOf(typed)),
});

/** `svc sms …` */
export const smsCommands = [test];

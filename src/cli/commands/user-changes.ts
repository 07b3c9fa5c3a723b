import { emailAddress } from '#src/contract/email-address.js';
import { userLimits } from '#src/contract/limits.js';
import { displayName, phoneNumber } from '#src/contract/shapes.js';
import { labelList, passwordText, toSession } from '#src/features/index.js';
import { type ParsedArgs, projectCommand } from '../line/command.js';
import { valid } from '../line/input.js';
import { requireChange, switchOption } from '../line/options.js';
import { count } from '../terminal/count.js';
import { usageError } from '../terminal/exit.js';
import { columns } from '../terminal/table.js';
import { calledOf, findUser, passwordOptions, readPassword, shownUser, userArgument } from './user-view.js';

const update = projectCommand({
  path: 'user update',
  summary: 'Changes a user. Fields without a flag stay as they are; an empty value removes the field',
  arguments: [userArgument],
  options: [
    { flag: '--name', value: 'NAME', summary: 'display name' },
    { flag: '--email', value: 'ADDRESS', summary: 'new email address; it becomes unverified' },
    { flag: '--phone', value: 'NUMBER', summary: 'new phone number; it becomes unverified' },
    { flag: '--labels', value: 'A,B', summary: `replaces all labels; at most ${userLimits.labels}` },
    switchOption('--email-verified', 'whether the address is verified'),
    switchOption('--phone-verified', 'whether the number is verified'),
    ...passwordOptions,
  ],
  examples: [
    'svc user update bob --project shop --name Bob --labels vip,beta --email-verified on',
    `printf 'a quiet river stone' | svc user update eve@example.com --project shop --password-stdin --json`,
  ],
  run: async (call) => {
    const { project, account } = await findUser(call);
    const { userChanges: users } = call.features;
    const { verified, ...changes } = wanted(call.args);
    const hasPassword = call.args.isGiven('--password-stdin') || call.args.isGiven('--secret-file');
    if (!hasPassword)
      requireChange(
        [...Object.values(changes), ...Object.values(verified)],
        'give at least one flag; svc user update --help lists them',
      );
    const password = hasPassword
      ? valid(passwordText, 'The password', await readPassword(call, async () => undefined))
      : undefined;
    const email = changes.email === undefined ? account.email : changes.email;
    const hash =
      password === undefined
        ? undefined
        : await users.preparePassword(project, account, { email, password, address: null });
    const changed = await call.work(project.id, async (unit) => {
      let user = await users.lockById(unit, project, account.id);
      if (changes.name !== undefined) user = await users.rename(unit, project, user, changes.name);
      if (changes.email !== undefined) user = await users.changeEmail(unit, project, user, changes.email);
      if (changes.phone !== undefined) user = await users.changePhone(unit, project, user, changes.phone);
      if (changes.labels !== undefined) user = await users.changeLabels(unit, project, user, changes.labels);
      if (hash !== undefined) user = await users.changePassword(unit, project, user, hash);
      for (const contact of ['email', 'phone'] as const) {
        const isVerified = verified[contact];
        if (isVerified !== undefined) user = await users.setVerification(unit, project, user, contact, isVerified);
      }
      return user;
    });
    return shownUser(changed);
  },
});

const sessions = projectCommand({
  path: 'user sessions',
  summary: 'Lists the sessions of a user, oldest first. --end and --end-all end sessions',
  arguments: [userArgument],
  options: [
    { flag: '--end', value: 'ID', summary: 'end the session with this id' },
    { flag: '--end-all', summary: 'end all sessions of the user' },
  ],
  examples: [
    'svc user sessions bob --project shop',
    'svc user sessions eve@example.com --project shop --end-all --json',
  ],
  run: async (call) => {
    const { project, account } = await findUser(call);
    const { features, runtime } = call;
    const id = call.args.text('--end');
    const all = call.args.isSet('--end-all');
    if (all && id !== undefined) throw usageError('--end and --end-all cannot be combined.', 'give only one of them');
    if (all) {
      const { length } = await features.sessions.active(runtime.db, project, account.id);
      await call.work(project.id, (unit) => features.sessions.closeAll(unit, project, account.id));
      call.output.note(`Ended ${count(length, 'session')} of ${calledOf(account)}.`);
    } else if (id !== undefined) {
      await call.work(project.id, async (unit) =>
        features.sessions.close(unit, project, await features.sessions.get(unit, project, account.id, id)),
      );
      call.output.note(`Ended the session ${id} of ${calledOf(account)}.`);
    }
    const left = await features.sessions.active(runtime.db, project, account.id);
    return {
      value: { total: left.length, sessions: left.map((session) => toSession(session, undefined)) },
      text: columns(
        ['ID', 'BY', 'ADDRESS', 'SINCE', 'LAST SEEN', 'UNTIL'],
        left.map((one) => [one.id, one.provider, one.ip, one.createdAt, one.accessedAt, one.expire]),
      ),
    };
  },
});

/** Commands that change users. */
export const userChangeCommands = [update, sessions];

function wanted(args: ParsedArgs) {
  const text = <T>(flag: `--${string}`, read: (value: string) => T): T | undefined => {
    const value = args.text(flag);
    return value === undefined ? undefined : read(value);
  };
  const isOn = (flag: `--${string}`) => text(flag, (value) => value === 'on');
  const verified = { email: isOn('--email-verified'), phone: isOn('--phone-verified') };
  return {
    name: text('--name', (value) => valid(displayName, '--name', value)),
    email: text('--email', (value) => (value === '' ? null : valid(emailAddress, '--email', value))),
    phone: text('--phone', (value) => (value === '' ? null : valid(phoneNumber, '--phone', value))),
    labels: text('--labels', (value) => valid(labelList, '--labels', value === '' ? [] : value.split(','))),
    verified,
  };
}

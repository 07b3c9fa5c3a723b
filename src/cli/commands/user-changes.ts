import { userLimits } from '#src/contract/limits.js';
import { displayName, emailAddress, phoneNumber } from '#src/contract/shapes.js';
import { labelList, passwordText, toSession } from '#src/features/index.js';
import { command, projectOption, type Typed } from '../command.js';
import { usageError } from '../exit.js';
import { valid } from '../input.js';
import { columns } from '../output.js';
import { findUser, passwordOptions, readPassword, shownUser, userArgument } from './user-view.js';

const update = command({
  path: 'user update',
  summary: 'Changes a user; what is not given stays, an empty value takes away',
  arguments: [userArgument],
  options: [
    projectOption,
    { flag: '--name', value: 'NAME', summary: 'display name' },
    { flag: '--email', value: 'ADDRESS', summary: 'e-mail address, unverified then' },
    { flag: '--phone', value: 'NUMBER', summary: 'phone number, unverified then' },
    { flag: '--labels', value: 'A,B', summary: `all labels of the user, at most ${userLimits.labels}` },
    { flag: '--email-verified', value: 'WORD', summary: 'whether the address is verified', choices: ['yes', 'no'] },
    { flag: '--phone-verified', value: 'WORD', summary: 'whether the number is verified', choices: ['yes', 'no'] },
    ...passwordOptions,
  ],
  examples: [
    'svc user update bob --project shop --name Bob --labels vip,beta --email-verified yes',
    `printf 'a quiet river stone' | svc user update eve@example.com --project shop --password-stdin --json`,
  ],
  needs: 'appliance',
  run: async (call) => {
    const { project, account } = await findUser(call);
    const { platform, features } = call.appliance;
    const { users } = features;
    const { verified, ...given } = wanted(call.typed);
    const hasPassword = call.typed.isSet('--password-stdin') || call.typed.text('--secret-file') !== undefined;
    if (!hasPassword && [...Object.values(given), ...Object.values(verified)].every((value) => value === undefined))
      throw usageError('there is nothing to change.', 'give at least one of the flags');
    const password = hasPassword ? valid(passwordText, 'The password', await readPassword(call)) : undefined;
    const address = given.email === undefined ? account.email : given.email;
    const hash = password === undefined ? undefined : await users.preparePassword(project, account, address, password);
    const changed = await platform.db.work(call.by(project.id), async (unit) => {
      let user = await users.held(unit, project, account.id);
      if (given.name !== undefined) user = await users.rename(unit, project, user, given.name);
      if (given.email !== undefined) user = await users.changeEmail(unit, project, user, given.email);
      if (given.phone !== undefined) user = await users.changePhone(unit, project, user, given.phone);
      if (given.labels !== undefined) user = await users.changeLabels(unit, project, user, given.labels);
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

const sessions = command({
  path: 'user sessions',
  summary: 'Lists the sessions of a user, oldest first, or ends some',
  arguments: [userArgument],
  options: [
    projectOption,
    { flag: '--end', value: 'ID', summary: 'end this one' },
    { flag: '--end-all', summary: 'end every one' },
  ],
  examples: [
    'svc user sessions bob --project shop',
    'svc user sessions eve@example.com --project shop --end-all --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const { project, account } = await findUser(call);
    const { platform, features } = call.appliance;
    const { db } = platform;
    const id = call.typed.text('--end');
    const all = call.typed.isSet('--end-all');
    if (all && id !== undefined) throw usageError('--end and --end-all exclude each other.', 'give one of them');
    if (all) {
      await db.work(call.by(project.id), (unit) => features.sessions.closeAll(unit, project, account.id));
    } else if (id !== undefined) {
      await db.work(call.by(project.id), async (unit) =>
        features.sessions.close(unit, project, await features.sessions.get(unit, project, account.id, id)),
      );
    }
    const left = await features.sessions.active(db, project, account.id);
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

function wanted(typed: Typed) {
  const text = <T>(flag: `--${string}`, read: (value: string) => T): T | undefined => {
    const value = typed.text(flag);
    return value === undefined ? undefined : read(value);
  };
  const yes = (flag: `--${string}`) => text(flag, (value) => value === 'yes');
  const verified = { email: yes('--email-verified'), phone: yes('--phone-verified') };
  return {
    name: text('--name', (value) => valid(displayName, '--name', value)),
    email: text('--email', (value) => (value === '' ? null : valid(emailAddress, '--email', value))),
    phone: text('--phone', (value) => (value === '' ? null : valid(phoneNumber, '--phone', value))),
    labels: text('--labels', (value) => valid(labelList, '--labels', value === '' ? [] : value.split(','))),
    verified,
  };
}

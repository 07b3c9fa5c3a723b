import type { Account } from '#src/contract/account.js';
import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { Instant } from '#src/contract/shapes.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { ForeignHash } from '#src/platform/foreign-hashes/hash.js';
import type { Platform } from '#src/platform/index.js';
import type { Accounts } from '../accounts/index.js';
import type { Courier } from '../courier/index.js';
import type { Asked } from '../lists/index.js';
import type { OneTimeSecrets } from '../one-time-secrets/index.js';
import type { Sessions } from '../sessions/index.js';
import { createChanges } from './changes.js';
import { createEndings } from './endings.js';

/** A person to be signed up. */
interface SignUp {
  readonly id: string;
  readonly email: string | null;
  readonly phone?: string | null;
  readonly password: string | null;
  readonly name: string;
  /** The language of the person, where the request said one. */
  readonly locale?: string | null;
}

/** A person who comes from another product. */
interface Newcomer extends Pick<SignUp, 'id' | 'name'> {
  readonly email: string;
  readonly hash: ForeignHash;
}

interface Doors {
  readonly accounts: Accounts;
  readonly sessions: Sessions;
  readonly secrets: OneTimeSecrets;
  readonly courier: Courier;
}

/** The life of an end user, whoever moves it: the user, an operator, or a server key. What a change must end, it ends here. */
export function createUsers({ db }: Pick<Platform, 'db'>, doors: Doors) {
  const { accounts, courier } = doors;
  const ends = createEndings(doors.sessions, doors.secrets);
  type Work = Parameters<typeof db.work>[0];
  const resource = (account: Account) => `users/${account.id}`;
  const recorded = (account: Account) => ({
    resource: resource(account),
    userId: account.id,
    payload: { userId: account.id },
  });
  /** Tells a user at the address that was known before the change. */
  const notify = (
    unit: Unit,
    project: Project,
    account: Account,
    message: 'email-changed' | 'phone-changed' | 'password-changed',
  ): void => {
    const { id: userId, email, name, locale } = account;
    if (email === null) return;
    courier.send(unit, project, { message, to: email, userId, name, locale, variables: { at: unit.now } });
  };
  const changePassword = async (
    unit: Unit,
    project: Project,
    account: Account,
    passwordHash: string | null,
    keepSessionId?: string,
  ): Promise<Account> => {
    const changed = await accounts.update(unit, project.id, account, { passwordHash, passwordUpdate: unit.now });
    await ends.ofPassword(unit, project, account, keepSessionId);
    unit.record('accountPasswordChanged', recorded(account));
    notify(unit, project, account, 'password-changed');
    return changed;
  };
  const owner = (project: Project, email: string | null, name: string) => ({ email, name, projectName: project.name });

  return {
    ...createChanges(accounts),
    /** Creates a user, mostly with a password. Throws Failure `password_policy_violation` and `user_already_exists`. */
    signUp: async (by: Work, project: Project, given: SignUp): Promise<Account> => {
      const { id, email, phone = null, password, name, locale = null } = given;
      if (password !== null) await accounts.checkPassword(password, owner(project, email, name));
      const passwordHash = password === null ? null : await accounts.hashPassword(project, password);
      return db.work(by, (unit) => accounts.create(unit, project.id, { id, email, phone, name, passwordHash, locale }));
    },
    /** Creates a user with the hash that another product made. Throws Failure `general_argument_invalid` and `user_already_exists`. */
    takeIn: (by: Work, project: Project, given: Newcomer): Promise<Account> => {
      const { hash, ...rest } = given;
      const passwordHash = accounts.adoptHash(project, hash);
      return db.work(by, (unit) => accounts.create(unit, project.id, { ...rest, passwordHash }));
    },
    /** What a sign-up with a taken address is answered with where the project hides that: a user who was never created. */
    unborn: ({ id, email, name }: SignUp & { readonly email: string }, now: Instant, targetId: string): Account => ({
      ...{
        id,
        email,
        name,
        phone: null,
        createdAt: now,
        updatedAt: now,
        accessedAt: now,
        passwordUpdate: now,
        passwordHash: null,
        locale: null,
      },
      ...{
        status: true,
        mfa: false,
        emailVerification: false,
        phoneVerification: false,
        labels: [],
        prefs: {},
        memberships: [],
      },
      targets: [{ id: targetId, createdAt: now, updatedAt: now, providerType: 'email', identifier: email }],
    }),
    rename: async (unit: Unit, project: Project, account: Account, name: string): Promise<Account> => {
      const changed = await accounts.update(unit, project.id, account, { name });
      unit.record('accountNameChanged', {
        resource: resource(account),
        userId: account.id,
        payload: { userId: account.id, name },
      });
      return changed;
    },
    changePrefs: async (unit: Unit, project: Project, account: Account, prefs: Account['prefs']): Promise<Account> => {
      const changed = await accounts.update(unit, project.id, account, { prefs });
      unit.record('accountPrefsChanged', recorded(account));
      return changed;
    },
    /** Gives a user another address, or none, and a first password where `passwordHash` is given. */
    changeEmail: async (
      unit: Unit,
      project: Project,
      account: Account,
      email: string | null,
      passwordHash?: string,
    ): Promise<Account> => {
      const change = passwordHash === undefined ? {} : { passwordHash, passwordUpdate: unit.now };
      const changed = await accounts.changeEmail(unit, project.id, account, email, change);
      const payload = { userId: account.id, email: email ?? '', previous: account.email ?? '' };
      unit.record('accountEmailChanged', { resource: resource(account), userId: account.id, payload });
      if (passwordHash !== undefined) unit.record('accountPasswordChanged', recorded(account));
      await ends.ofEmail(unit, project, account);
      if (passwordHash !== undefined) await ends.proofs(unit, project, account);
      if (account.email !== email) notify(unit, project, account, 'email-changed');
      return changed;
    },
    /** Gives a user another phone number, unverified, or none. */
    changePhone: async (unit: Unit, project: Project, account: Account, phone: string | null): Promise<Account> => {
      const changed = await accounts.changePhone(unit, project.id, account, phone);
      const payload = { userId: account.id, phone: phone ?? '', previous: account.phone ?? '' };
      unit.record('accountPhoneChanged', { resource: resource(account), userId: account.id, payload });
      await ends.ofPhone(unit, project, account);
      if (account.phone !== phone) notify(unit, project, account, 'phone-changed');
      return changed;
    },
    /** Sets a password, or takes it away, and ends every other session of the user. */
    changePassword,
    /** Sets a password for somebody who has shown to hold the e-mail address: every session ends, and none begins. */
    recover: async (unit: Unit, project: Project, account: Account, passwordHash: string): Promise<Account> =>
      changePassword(unit, project, await accounts.markVerified(unit, project.id, account, 'email'), passwordHash),
    /** Blocks a user; every session ends with it, and its holder is told `user_blocked` while the block lasts. */
    block: async (unit: Unit, project: Project, account: Account): Promise<Account> => {
      const changed = await accounts.update(unit, project.id, account, { status: false });
      await ends.ofBlock(unit, project, account);
      unit.record('accountBlocked', recorded(account));
      return changed;
    },
    unblock: async (unit: Unit, project: Project, account: Account): Promise<Account> => {
      const changed = await accounts.update(unit, project.id, account, { status: true });
      unit.record('accountUnblocked', recorded(account));
      return changed;
    },
    /** Deletes a user with its sessions. */
    remove: async (unit: Unit, project: Project, account: Account): Promise<void> => {
      await ends.ofRemoval(unit, project, account);
      await accounts.remove(unit, project.id, account.id);
      unit.record('accountDeleted', {
        resource: resource(account),
        userId: account.id,
        payload: { userId: account.id, email: account.email ?? '' },
      });
    },
    /** Throws Failure `password_policy_violation`; otherwise the stored form of a new password of this user. */
    preparePassword: async (
      project: Project,
      account: Account,
      email: string | null,
      password: string,
    ): Promise<string> => {
      await accounts.checkPassword(password, owner(project, email, account.name));
      return accounts.hashPassword(project, password);
    },
    /** A user by id or e-mail address. Throws Failure `user_not_found`. */
    find: async (project: Project, idOrEmail: string): Promise<Account> => {
      const found =
        (await accounts.find(db, project.id, idOrEmail)) ??
        (await accounts.findByEmail(db, project.id, idOrEmail.toLowerCase()));
      if (found === undefined) throw new Failure('user_not_found');
      return found;
    },
    /** A page of the users, and how many there are in all pages. Throws Failure `general_argument_invalid` and `general_cursor_not_found`. */
    list: (project: Project, asked: Asked): Promise<{ total: number; users: Account[] }> =>
      db.snapshot((snapshot) => accounts.list(snapshot, project.id, asked)),
  };
}

/** The users service. */
export type Users = ReturnType<typeof createUsers>;

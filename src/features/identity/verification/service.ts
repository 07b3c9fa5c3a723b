import type { Actor } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { secretLife } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Courier, Limits } from '../../installation/index.js';
import type { Claims } from '../claims/index.js';
import { type Issued, type OneTimeSecrets, type Redeemed, redemptionLink } from '../one-time-secrets/index.js';
import type { Users } from '../users/index.js';

/** What verifications use. */
export interface VerificationDeps {
  readonly users: Users;
  readonly claims: Claims;
  readonly secrets: OneTimeSecrets;
  readonly courier: Courier;
  readonly limits: Limits;
}

/** Which part of an account is verified. */
const contacts = { 'email-verification': 'email', 'phone-verification': 'phone' } as const;

/** Issues and redeems proofs that a user holds an e-mail address or a phone number. */
export function createVerifications({ users, claims, secrets, courier, limits }: VerificationDeps) {
  return {
    /** Sends a link to the user's e-mail address. Refuses with 429. */
    requestEmail: async (
      unit: Unit,
      project: Project,
      account: UserRecord,
      options: { readonly page: URL; readonly locale: string | null },
    ): Promise<Issued> => {
      const { id: userId, email, name } = account;
      if (email === null) throw new Failure('user_email_not_found');
      if (account.emailVerification) throw new Failure('user_email_already_verified');
      await limits.demandSend(unit, 'mail', email);
      const issued = await secrets.issue(unit, project, {
        purpose: 'email-verification',
        subject: userId,
        userId,
        recipient: email,
        form: 'link',
        lifeSeconds: secretLife.verification,
      });
      const addressee = { to: email, userId, name, locale: options.locale ?? account.locale };
      const variables = { link: redemptionLink(options.page, project, issued) };
      courier.send(unit, project, { message: 'email-verification', ...addressee, variables });
      return issued;
    },
    /** Sends a code to the user's phone number. Refuses with 429. */
    requestPhone: async (
      unit: Unit,
      project: Project,
      account: UserRecord,
      options: { readonly locale: string | null },
    ): Promise<Issued> => {
      const { id: userId, phone, name } = account;
      if (phone === null) throw new Failure('user_phone_not_found');
      if (account.phoneVerification) throw new Failure('user_phone_already_verified');
      await limits.demandSend(unit, 'sms', phone);
      const issued = await secrets.issue(unit, project, {
        purpose: 'phone-verification',
        subject: userId,
        userId,
        recipient: phone,
        form: 'code',
        lifeSeconds: secretLife.code,
      });
      const addressee = { to: phone, userId, name, locale: options.locale ?? account.locale };
      courier.send(unit, project, { message: 'phone-verification', ...addressee, variables: { code: issued.secret } });
      return issued;
    },
    /**
     * Redeems a link or a code. Whatever is wrong with it is refused with the same error, so that nobody learns which users there are.
     */
    confirm: async (
      unit: Unit,
      project: Project,
      purpose: keyof typeof contacts,
      input: { readonly userId: string; readonly secret: string; readonly ip: string; readonly actor: Actor },
    ): Promise<Redeemed> => {
      const { userId, secret, ip, actor } = input;
      // The user first, as wherever a user and its secrets change together: otherwise two such units could wait for each other.
      const account = await users.lockById(unit, project.id, userId);
      const redeemed = await secrets.redeem(unit, project, { purposes: [purpose], userId, secret });
      const contact = contacts[purpose];
      if (redeemed === undefined || account === undefined || account[contact] !== redeemed.recipient) {
        const whose = account === undefined ? {} : { userId };
        const resource = account === undefined ? 'users' : `users/${userId}`;
        unit.record('proofFailed', { resource, payload: { purpose, ip }, ...whose });
        throw unit.refuse('user_invalid_token');
      }
      if (!account.status) throw new Failure('user_blocked');
      const value = redeemed.recipient;
      // Nobody is logged in by a verification, so it makes no account where the claim falls.
      const claimed = await claims.claim(unit, project, { contact, value, actor, account, newcomer: null });
      if (claimed === undefined) throw unit.refuse(...fallen);
      return redeemed;
    },
  };
}

const fallen = [
  'user_invalid_token',
  {
    message:
      'The contact was taken from the account: nobody who is logged in to it has confirmed it. Log in, set it again and confirm it there.',
  },
] as const;

import type { Account } from '#src/contract/account.js';
import { Failure } from '#src/contract/errors.js';
import { secretLife } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Accounts } from '../accounts/index.js';
import type { Courier } from '../courier/index.js';
import type { Limits } from '../limits/index.js';
import { type Issued, type OneTimeSecrets, type Redeemed, redemptionLink } from '../one-time-secrets/index.js';

/** What verifications lean on. */
export interface VerificationDoors {
  readonly accounts: Accounts;
  readonly secrets: OneTimeSecrets;
  readonly courier: Courier;
  readonly limits: Limits;
}

/** Which part of an account is verified. */
const contacts = { 'email-verification': 'email', 'phone-verification': 'phone' } as const;

/** Issues and redeems proofs that a user holds an e-mail address or a phone number. */
export function createVerifications({ accounts, secrets, courier, limits }: VerificationDoors) {
  return {
    /** Sends a link to the user's e-mail address. Returns a Failure 429 that the unit must return in turn. */
    requestEmail: async (
      unit: Unit,
      project: Project,
      account: Account,
      asked: { readonly page: URL; readonly locale: string | null },
    ): Promise<Issued | Failure> => {
      const { id: userId, email, name } = account;
      if (email === null) throw new Failure('user_email_not_found');
      if (account.emailVerification) throw new Failure('user_email_already_verified');
      const refused = await limits.demandSend(unit, 'mail', email);
      if (refused !== undefined) return refused;
      const issued = await secrets.issue(unit, project, {
        ...{ purpose: 'email-verification', subject: userId, userId, recipient: email },
        ...{ form: 'link', lifeSeconds: secretLife.verification },
      });
      const letter = { to: email, userId, name, locale: asked.locale ?? account.locale };
      const variables = { link: redemptionLink(asked.page, project, issued) };
      courier.send(unit, project, { message: 'email-verification', ...letter, variables });
      return issued;
    },
    /** Sends a code to the user's phone number. Returns a Failure 429 that the unit must return in turn. */
    requestPhone: async (
      unit: Unit,
      project: Project,
      account: Account,
      asked: { readonly locale: string | null },
    ): Promise<Issued | Failure> => {
      const { id: userId, phone, name } = account;
      if (phone === null) throw new Failure('user_phone_not_found');
      if (account.phoneVerification) throw new Failure('user_phone_already_verified');
      const refused = await limits.demandSend(unit, 'sms', phone);
      if (refused !== undefined) return refused;
      const issued = await secrets.issue(unit, project, {
        ...{ purpose: 'phone-verification', subject: userId, userId, recipient: phone },
        ...{ form: 'code', lifeSeconds: secretLife.code },
      });
      const letter = { to: phone, userId, name, locale: asked.locale ?? account.locale };
      courier.send(unit, project, { message: 'phone-verification', ...letter, variables: { code: issued.secret } });
      return issued;
    },
    /**
     * Redeems a link or a code. Whatever is wrong with it is one and the same Failure, so that nobody learns which users there are; the
     * unit must return it in turn.
     */
    confirm: async (
      unit: Unit,
      project: Project,
      purpose: keyof typeof contacts,
      given: { readonly userId: string; readonly secret: string; readonly ip: string },
    ): Promise<Redeemed | Failure> => {
      const { userId, secret, ip } = given;
      // The user first, as wherever a user and its secrets change together: otherwise two such units could wait for each other.
      const account = await accounts.hold(unit, project.id, userId);
      const redeemed = await secrets.redeem(unit, project, { purposes: [purpose], userId, secret });
      const contact = contacts[purpose];
      if (redeemed instanceof Failure || account === undefined || account[contact] !== redeemed.recipient) {
        const whose = account === undefined ? {} : { userId };
        const resource = account === undefined ? 'users' : `users/${userId}`;
        unit.record('proofFailed', { resource, payload: { purpose, ip }, ...whose });
        return new Failure('user_invalid_token');
      }
      if (!account.status) throw new Failure('user_blocked');
      await accounts.markVerified(unit, project.id, account, contact);
      return redeemed;
    },
  };
}

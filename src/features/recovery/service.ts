import { Failure } from '#src/contract/errors.js';
import { secretLife } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Platform } from '#src/platform/index.js';
import type { Accounts } from '../accounts/index.js';
import type { Courier } from '../courier/index.js';
import type { Limits } from '../limits/index.js';
import { type Issued, type OneTimeSecrets, type Redeemed, redemptionLink } from '../one-time-secrets/index.js';
import type { Users } from '../users/index.js';
import { createDecoys } from './decoy.js';

/** What recovery leans on. */
export interface RecoveryDoors {
  readonly accounts: Accounts;
  readonly users: Users;
  readonly secrets: OneTimeSecrets;
  readonly courier: Courier;
  readonly limits: Limits;
}

const purpose = 'recovery';

/** Issues and redeems links that let set a new password. */
export function createRecoveries(platform: Pick<Platform, 'sealing'>, doors: RecoveryDoors) {
  const { accounts, users, secrets, courier, limits } = doors;
  const decoyId = createDecoys(platform);
  return {
    /**
     * Sends a link to an address. Where nobody has it a link is issued all the same, for nobody and sent to nobody, so that the answer and
     * its time tell nothing. Returns a Failure 429 that the unit must return in turn.
     */
    request: async (
      unit: Unit,
      project: Project,
      asked: { readonly email: string; readonly page: URL; readonly locale: string | null },
    ): Promise<Issued | Failure> => {
      const { email, page } = asked;
      const refused = await limits.demandSend(unit, 'mail', email);
      if (refused !== undefined) return refused;
      const account = await accounts.findByEmail(unit, project.id, email);
      const userId = account?.id ?? null;
      const issued = await secrets.issue(unit, project, {
        ...{ purpose, subject: email, userId, alias: userId ?? decoyId(project, email), recipient: email },
        ...{ form: 'link', lifeSeconds: secretLife.recovery },
      });
      const link = redemptionLink(page, project, issued);
      if (account === undefined) return issued;
      const letter = { to: email, userId, name: account.name, locale: asked.locale ?? account.locale };
      courier.send(unit, project, { message: 'recovery', ...letter, variables: { link } });
      return issued;
    },
    /** Redeems a link for a user and sets the password. Returns a Failure that the unit must return in turn. */
    complete: async (
      unit: Unit,
      project: Project,
      given: { readonly userId: string; readonly secret: string; readonly passwordHash: string; readonly ip: string },
    ): Promise<Redeemed | Failure> => {
      const { userId, secret, passwordHash, ip } = given;
      const account = await accounts.hold(unit, project.id, userId);
      const redeemed = await secrets.redeem(unit, project, { purposes: [purpose], userId, secret });
      if (redeemed instanceof Failure || account === undefined || account.email !== redeemed.recipient)
        return refuse(unit, userId, ip);
      if (!account.status) throw new Failure('user_blocked');
      await users.recover(unit, project, account, passwordHash);
      return redeemed;
    },
    /** Records that somebody came with a link that is none. */
    refuse,
  };
}

function refuse(unit: Unit, userId: string | undefined, ip: string): Failure {
  const payload = { purpose, ip };
  unit.record(
    'proofFailed',
    userId === undefined ? { resource: 'users', payload } : { resource: `users/${userId}`, payload, userId },
  );
  return new Failure('user_invalid_token');
}

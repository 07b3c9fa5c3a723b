import type { Account } from '#src/contract/account.js';
import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Accounts } from '../../accounts/index.js';

/** What of a redeemed secret tells whose it is. */
interface Proof {
  readonly userId: string | null;
  readonly alias: string;
  readonly recipient: string;
}

/** Finds whose login a redeemed secret is, and makes the user where there is none yet; nobody else changes the user until the unit ends. */
export function createOwner(accounts: Accounts) {
  const create = async (
    unit: Unit,
    project: Project,
    given: Parameters<Accounts['create']>[2],
  ): Promise<Account | Failure> => {
    try {
      return await accounts.create(unit, project.id, given);
    } catch (error) {
      if (error instanceof Failure) return error;
      throw error;
    }
  };
  return async (
    unit: Unit,
    project: Project,
    { userId, alias, recipient }: Proof,
    contact: 'email' | 'phone' | undefined,
    locale: string | null,
  ): Promise<Account | Failure> => {
    if (userId !== null) {
      const account = await accounts.hold(unit, project.id, userId);
      // Whoever reads an address that the user has given up meanwhile is not the user.
      const isTheirs = account !== undefined && (contact === undefined || account[contact] === recipient);
      return isTheirs ? account : new Failure('user_invalid_token');
    }
    if (contact === undefined) return new Failure('user_invalid_token');
    const byAddress = () => accounts.holdByContact(unit, project.id, contact, recipient);
    const known = await byAddress();
    if (known !== undefined) return known;
    const made = await create(unit, project, {
      ...{ id: alias, email: null, phone: null, [contact]: recipient, name: '', passwordHash: null, locale },
    });
    // A parallel login may just have made the user of this address.
    return made instanceof Failure ? ((await byAddress()) ?? made) : made;
  };
}

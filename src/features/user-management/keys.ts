import type { Account } from '#src/contract/account.js';
import type { ServerKey } from '#src/contract/actor.js';
import type { RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Accounts } from '../accounts/index.js';
import { toManagedUser } from './view.js';

/** A server key's call that names a user. */
export interface OfUser {
  readonly project: Project;
  readonly actor: ServerKey;
  readonly params: { readonly userId: string };
  readonly request: RequestFacts;
}

/** Creates what prints users for server keys. */
export function printing(accounts: Accounts) {
  return (project: Project, account: Account) => toManagedUser(account, accounts.describePassword(project, account));
}

import type { ServerKey } from '#src/contract/actor.js';
import type { RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Users } from '../../users/index.js';
import { toManagedUser } from './view.js';

/** A call by a server key that concerns one user. */
export interface OfUser {
  readonly project: Project;
  readonly actor: ServerKey;
  readonly params: { readonly userId: string };
  readonly request: RequestFacts;
}

/** Creates the function that renders users for server keys. */
export function printing(users: Users) {
  return (project: Project, account: UserRecord) => toManagedUser(account, users.describePassword(project, account));
}

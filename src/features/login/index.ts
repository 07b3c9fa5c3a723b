import type { Platform } from '#src/platform/index.js';
import type { Accounts } from '../accounts/index.js';
import type { Limits } from '../limits/index.js';
import type { Sessions } from '../sessions/index.js';
import { createPasswordLogin } from './password/index.js';

/** Every way in, in the order in which the documentation lists them. */
const loginMethods = [createPasswordLogin];

/** Builds all login methods. */
export function createLogins(platform: Platform, doors: { accounts: Accounts; sessions: Sessions; limits: Limits }) {
  return { operations: loginMethods.flatMap((create) => create(platform, doors).operations) };
}

import type { Platform } from '#src/platform/index.js';
import type { Accounts } from '../accounts/index.js';
import type { Courier } from '../courier/index.js';
import type { Limits } from '../limits/index.js';
import type { OneTimeSecrets } from '../one-time-secrets/index.js';
import type { Projects } from '../projects/index.js';
import type { Sessions } from '../sessions/index.js';
import { createAnonymousLogin } from './anonymous/index.js';
import { createEmailCodeLogin } from './email-code/index.js';
import { createMagicUrlLogin } from './magic-url/index.js';
import { createPasswordLogin } from './password/index.js';
import { createPhoneCodeLogin } from './phone-code/index.js';
import { createTokenLogin } from './token/index.js';

/** Every way in, in the order in which the documentation lists them. */
const loginMethods = [
  createPasswordLogin,
  createAnonymousLogin,
  createMagicUrlLogin,
  createEmailCodeLogin,
  createPhoneCodeLogin,
  createTokenLogin,
];

/** What ways in may lean on. */
interface Doors {
  readonly accounts: Accounts;
  readonly sessions: Sessions;
  readonly limits: Limits;
  readonly secrets: OneTimeSecrets;
  readonly courier: Courier;
  readonly projects: Projects;
}

/** Builds all login methods. */
export function createLogins(platform: Platform, doors: Doors) {
  return { operations: loginMethods.flatMap((create) => create(platform, doors).operations) };
}

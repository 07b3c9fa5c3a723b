import { anonymous } from './anonymous/index.js';
import { emailCode } from './email-code/index.js';
import { magicUrl } from './magic-url/index.js';
import type { LoginMethod } from './method.js';
import { passkey } from './passkey/index.js';
import { password } from './password/index.js';
import { phoneCode } from './phone-code/index.js';
import { serverToken } from './server-token/index.js';

export { createLogins } from './operations.js';

/** Every way to log in, in the order in which the documentation lists them. */
export const loginMethods: readonly LoginMethod[] = [
  password,
  anonymous,
  magicUrl,
  emailCode,
  phoneCode,
  passkey,
  serverToken,
];

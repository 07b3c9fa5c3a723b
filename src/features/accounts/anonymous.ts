import type { Account } from '#src/contract/account.js';

/** Whether nothing but a session leads to the account. */
export function isAnonymous({ email, phone, passwordHash }: Account): boolean {
  return email === null && phone === null && passwordHash === null;
}

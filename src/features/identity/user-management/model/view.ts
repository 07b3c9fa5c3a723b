import { z } from 'zod';
import type { UserRecord } from '#src/contract/user.js';
import type { HashDescription } from '#src/platform/crypto/hashing.js';
import { toUser, userShape } from '../../users/index.js';

/** A user on the wire for server keys: with the password hash, so that it can be exported to another product. */
export const managedUserShape = userShape
  .extend({
    password: z.string().meta({ description: 'The hash of the password; empty where there is none' }),
    hash: z.string().meta({ description: 'The algorithm of the hash' }),
    hashOptions: z.record(z.string(), z.unknown()).meta({ description: 'What the algorithm was given' }),
  })
  .meta({ id: 'ManagedUser' });

/** Renders a user for a server key. */
export function toManagedUser(
  account: UserRecord,
  described: HashDescription | undefined,
): z.input<typeof managedUserShape> {
  return {
    ...toUser(account),
    password: described?.hash ?? '',
    hash: described?.algorithm ?? '',
    hashOptions: { ...described?.options },
  };
}

import { z } from 'zod';
import type { Account } from '#src/contract/account.js';
import { toWireInstant, wireInstant } from '#src/contract/shapes.js';
import type { Activity } from '../activity/index.js';

/** Something that a user did, or that was done to the account, on the wire. */
export const logShape = z
  .object({
    event: z.string().meta({ description: 'The name of what was recorded, as docs/events.md lists them' }),
    userId: z.string(),
    userEmail: z.string(),
    userName: z.string(),
    mode: z.literal('default'),
    userType: z.string().meta({ description: 'Who did it: user, guest, key, operator or job' }),
    ip: z.string(),
    time: wireInstant,
    osCode: z.string(),
    osName: z.string(),
    osVersion: z.string(),
    clientType: z.string(),
    clientCode: z.string(),
    clientName: z.string(),
    clientVersion: z.string(),
    clientEngine: z.string(),
    clientEngineVersion: z.string(),
    deviceName: z.string(),
    deviceBrand: z.string(),
    deviceModel: z.string(),
    countryCode: z.string(),
    countryName: z.string(),
  })
  .meta({ id: 'Log' });

/** Prints an entry of a user's log. The address is the one that was recorded with it, where one was. */
export function toLog(account: Account, { action, at, by, values }: Activity): z.input<typeof logShape> {
  const of = (name: string) => values[name] ?? '';
  return {
    event: action,
    userId: account.id,
    userEmail: values.email ?? account.email ?? '',
    userName: account.name,
    mode: 'default',
    userType: by,
    ip: of('ip'),
    time: toWireInstant(at),
    osCode: of('osCode'),
    osName: of('osName'),
    osVersion: of('osVersion'),
    clientType: of('clientType'),
    clientCode: of('clientCode'),
    clientName: of('clientName'),
    clientVersion: of('clientVersion'),
    clientEngine: of('clientEngine'),
    clientEngineVersion: of('clientEngineVersion'),
    deviceName: of('deviceName'),
    deviceBrand: of('deviceBrand'),
    deviceModel: of('deviceModel'),
    countryCode: values.countryCode ?? '--',
    countryName: values.countryName ?? 'Unknown',
  };
}

/** An account with another provider, on the wire. */
export const identityShape = z
  .object({
    $id: z.string(),
    $createdAt: wireInstant,
    $updatedAt: wireInstant,
    userId: z.string(),
    provider: z.string(),
    providerUid: z.string(),
    providerEmail: z.string(),
    providerAccessToken: z.string(),
    providerAccessTokenExpiry: z.string(),
    providerRefreshToken: z.string(),
  })
  .meta({ id: 'Identity' });

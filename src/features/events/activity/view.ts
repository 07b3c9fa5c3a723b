import { z } from 'zod';
import { type Device, deviceMembers } from '#src/contract/session.js';
import { type Instant, toWireInstant, wireInstant } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';

/** An action by a user or on the account of one. */
export interface Activity {
  readonly action: string;
  readonly at: Instant;
  /** The kind of actor who did it. */
  readonly by: string;
  /** Recorded texts, including personal values that are not erased. */
  readonly values: Readonly<Record<string, string>>;
}

const logShape = z
  .object({
    event: z.string().meta({ description: 'The name of what was recorded, as docs/events.md lists them' }),
    userId: z.string(),
    userEmail: z.string(),
    userName: z.string(),
    mode: z.literal('default'),
    userType: z.string().meta({ description: 'Who did it: user, guest, key, operator or job' }),
    ip: z.string(),
    time: wireInstant,
    ...deviceMembers,
    countryCode: z.string(),
    countryName: z.string(),
  })
  .meta({ id: 'Log' });

/** A user's log on the wire. */
export const logListShape = z.object({ total: z.int(), logs: z.array(logShape) }).meta({ id: 'LogList' });

/** Converts an entry of a user's log to its wire format. Address and device are those of the request, if a request made the change. */
export function toLog(account: UserRecord, { action, at, by, values }: Activity): z.input<typeof logShape> {
  const device = Object.fromEntries(Object.keys(deviceMembers).map((name) => [name, values[name] ?? ''])) as Device;
  return {
    event: action,
    userId: account.id,
    userEmail: account.email ?? '',
    userName: account.name,
    mode: 'default',
    userType: by,
    ip: values.ip ?? '',
    time: toWireInstant(at),
    ...device,
    countryCode: values.countryCode ?? '--',
    countryName: values.countryName ?? 'Unknown',
  };
}

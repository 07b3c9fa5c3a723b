import { z } from 'zod';
import { toWireInstant, wireInstant, wireInstantOrEmpty, wireRecord } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Membership } from './membership-store.js';

/** A membership on the wire. */
export const membershipShape = z
  .object({
    ...wireRecord,
    userId: z.string(),
    userName: z.string(),
    userEmail: z.string(),
    userPhone: z.string(),
    teamId: z.string(),
    teamName: z.string(),
    invited: wireInstant,
    joined: wireInstantOrEmpty,
    confirm: z.boolean().meta({ description: 'Whether the user has joined; until then the membership gives no roles' }),
    mfa: z.boolean(),
    userAccessedAt: wireInstantOrEmpty,
    roles: z.array(z.string()),
  })
  .meta({ id: 'Membership' });

/** A membership with its user and the name of its team. */
export interface NamedMembership {
  readonly membership: Membership;
  readonly account: UserRecord;
  readonly teamName: string;
}

/** Visible fields of a member: the user's data or the data from the invitation, each with or without email address and phone number. */
export type Sight = 'everything' | 'withoutContacts' | 'asInvited' | 'asInvitedWithoutContacts';

/** Renders a membership for the wire. */
export function toMembership(named: NamedMembership, sight: Sight): z.input<typeof membershipShape> {
  const { membership, teamName } = named;
  const person = seen(named, sight);
  return {
    $id: membership.id,
    $createdAt: toWireInstant(membership.createdAt),
    $updatedAt: toWireInstant(membership.updatedAt),
    userId: person.id,
    userName: person.name,
    userEmail: person.email,
    userPhone: person.phone,
    teamId: membership.teamId,
    teamName,
    invited: toWireInstant(membership.invited),
    joined: toWireInstant(membership.joined),
    confirm: membership.confirm,
    mfa: person.mfa,
    userAccessedAt: toWireInstant(person.accessedAt),
    roles: [...membership.roles],
  };
}

function seen({ membership, account }: NamedMembership, sight: Sight) {
  const contacts = { email: '', phone: '' };
  if (sight === 'asInvited' || sight === 'asInvitedWithoutContacts') {
    const { invitedAs, alias, userId } = membership;
    const shown = sight === 'asInvited' ? invitedAs : { ...invitedAs, ...contacts };
    return { ...shown, id: alias ?? userId, mfa: false, accessedAt: null };
  }
  const { id, name, accessedAt } = account;
  if (sight === 'withoutContacts') return { id, name, ...contacts, mfa: false, accessedAt };
  return { id, name, email: account.email ?? '', phone: account.phone ?? '', mfa: account.mfa, accessedAt };
}

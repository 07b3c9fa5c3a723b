import type { Unit } from '#src/platform/db/unit.js';
import { type NamedMembership, toMembership } from './view.js';

/**
 * Leaves an event about a membership. Server keys read all of it, members what they would be shown in a list. Who is invited reads
 * nothing yet: the invitation went to an address, which may be another's.
 */
export function announceMembership(
  unit: Unit,
  event: 'membershipCreated' | 'membershipUpdated' | 'membershipDeleted',
  named: NamedMembership,
): void {
  const { id, teamId, userId, confirm } = named.membership;
  const shown = confirm
    ? { withoutContacts: toMembership(named, 'withoutContacts') }
    : { contacts: toMembership(named, 'asInvited'), withoutContacts: toMembership(named, 'asInvitedWithoutContacts') };
  unit.announce(event, {
    resource: `teams/${teamId}/memberships/${id}`,
    data: JSON.stringify(toMembership(named, 'everything')),
    audience: { team: teamId, ...(confirm ? { user: userId } : {}), shown },
  });
}

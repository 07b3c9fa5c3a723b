import type { Unit } from '#src/platform/db/unit.js';
import { type NamedMembership, toMembership } from './membership-view.js';

/**
 * Announces a membership event. Server keys read all of it; members read what a list shows them. The invited user reads nothing yet: the
 * invited address may be another person's.
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

import { z } from 'zod';
import { teamLimits } from '#src/contract/limits.js';
import { teamRole } from '#src/contract/permissions.js';
import { toWireInstant, wireRecord } from '#src/contract/shapes.js';
import type { CountedTeam } from './store.js';

/** Roles of a member. */
export const teamRoles = z
  .array(teamRole)
  .max(teamLimits.roles)
  .meta({ description: 'Free words; owner may change the team' });

/** A team on the wire. */
export const teamShape = z
  .object({
    ...wireRecord,
    name: z.string(),
    total: z.int().meta({ description: 'Confirmed members' }),
    prefs: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Team' });

/** Renders a team for the wire. */
export function toTeam(team: CountedTeam): z.input<typeof teamShape> {
  return {
    $id: team.id,
    $createdAt: toWireInstant(team.createdAt),
    $updatedAt: toWireInstant(team.updatedAt),
    name: team.name,
    total: team.total,
    prefs: { ...team.prefs },
  };
}

// Teams for tests, made as an application's users make them.
import assert from 'node:assert/strict';
import { aLoggedInUser, type LoggedInUser } from '../harness/actors.js';
import type { TestAppliance } from '../harness/appliance.js';
import type { Client } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';
import { lastMessageTo } from '../harness/messages.js';

/** The page that invitations of the tests lead to. */
export const page = 'http://localhost:3000/join?from=mail';

/** What a link of an invitation carries. */
interface Link {
  readonly membershipId: string;
  readonly userId: string;
  readonly secret: string;
  readonly teamId: string;
}

/** A team with its owner, one more member and the paths below /v1. */
export interface TestTeam {
  readonly id: string;
  readonly path: string;
  readonly memberships: string;
  readonly owner: LoggedInUser;
}

let made = 0;

/** Somebody who has created a team. */
export async function aTeam(target: TestAppliance, given: Readonly<Record<string, unknown>> = {}): Promise<TestTeam> {
  made += 1;
  const id = `team-${made}`;
  const owner = await aLoggedInUser(target);
  (await owner.client.post('/teams', { teamId: id, name: `Team ${made}`, ...given })).expect(201);
  return { id, path: `/teams/${id}`, memberships: `/teams/${id}/memberships`, owner };
}

/** Puts a user into a team with a server key and returns the membership's id. */
export async function addMember(key: Client, team: TestTeam, userId: string, roles: readonly string[] = []) {
  return (await key.post(team.memberships, { userId, roles })).expect(201).string('$id');
}

/** Lets the owner of a team invite somebody by email address and returns what the mail carries. */
export async function invite(
  target: TestAppliance,
  team: TestTeam,
  email: string,
  roles: readonly string[] = ['reader'],
): Promise<Link> {
  (await team.owner.client.post(team.memberships, { email, roles, url: page })).expect(201);
  return linkOf(target, email);
}

/** What the link of the newest mail to an address carries. */
export async function linkOf(target: TestAppliance, email: string): Promise<Link> {
  const { template, locals } = await lastMessageTo(target, email);
  assert.equal(template, 'invitation');
  // A link has exactly the members that the tests name.
  return Object.fromEntries(new URL(String(locals.link)).searchParams) as unknown as Link;
}

/** Follows a link as somebody. */
export function accept(client: Client, { teamId, membershipId, userId, secret }: Link) {
  return client.patch(`/teams/${teamId}/memberships/${membershipId}/status`, { userId, secret });
}

/** Fails unless what stands with the users is what the tables say. */
export async function assertInStep(target: TestAppliance): Promise<void> {
  const joined = (await rowsOf(target, 'memberships')).filter(({ confirm }) => Number(confirm) === 1);
  for (const user of await rowsOf(target, 'users')) {
    const expected = joined
      .filter((row) => row.user_id === user.id && row.project_id === user.project_id)
      .map(({ id, team_id, roles, joined: at }) => ({
        id,
        teamId: team_id,
        roles: JSON.parse(String(roles)),
        joined: at,
      }));
    const byId = (a: { id: unknown }, b: { id: unknown }) => (String(a.id) < String(b.id) ? -1 : 1);
    const stored = JSON.parse(String(user.memberships));
    assert.deepEqual(stored.sort(byId), expected.sort(byId), String(user.id));
  }
}

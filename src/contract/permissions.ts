import { z } from 'zod';
import type { WireActor } from './actor.js';
import { Failure, invalidParam } from './errors.js';
import { permissionLimits, teamLimits } from './limits.js';
import { guessPermission } from './permission-guess.js';
import type { UserRecord } from './user.js';
import { controls } from './visible.js';

/** Actions that a permission can allow. */
export const permissionActions = ['read', 'create', 'update', 'delete'] as const;
/** One action of a permission. */
export type PermissionAction = (typeof permissionActions)[number];

/** Pattern of a team role that a permission can contain. */
const teamRolePattern = `[^/"${controls}\\ud800-\\udfff]{1,${teamLimits.role}}`;
/** A role of a member in a team: free text; only `owner` has a meaning of its own. */
export const teamRole = z
  .string()
  .regex(new RegExp(`^${teamRolePattern}$`, 'u'), `must be 1 to ${teamLimits.role} characters without / and "`);

const id = '[A-Za-z0-9][A-Za-z0-9._-]{0,35}';
const status = '(?:/(?:verified|unverified))?';
const roleForms = [
  'any',
  'guests',
  `users${status}`,
  `user:${id}${status}`,
  `team:${id}(?:/${teamRolePattern})?`,
  `member:${id}`,
  'label:[A-Za-z0-9]{1,36}',
];
const permissionForm = new RegExp(`^(read|create|update|delete|write)\\("(${roleForms.join('|')})"\\)$`, 'u');

/** A list of permission strings, such as `read("any")` or `write("user:ada")`. */
export const permissionList = z
  .array(z.string().regex(permissionForm, { error: ({ input }) => wrongPermission(String(input)) }))
  .max(permissionLimits.entries)
  .meta({
    description:
      'Permissions: read, create, update, delete or write of a role: any, guests, users, user:ID, team:ID, team:ID/ROLE, member:ID, label:NAME',
  });

const wording = 'must be a permission such as read("any") or update("user:ID")';
const roleList = 'any, guests, users, user:ID, team:ID, team:ID/ROLE, member:ID and label:NAME';

function wrongPermission(text: string): string {
  const guess = guessPermission(text);
  const advice = guess !== undefined && permissionForm.test(guess) ? ` Did you mean ${guess}?` : '';
  return `${wording}. Actions are ${permissionActions.join(', ')} and write; roles are ${roleList}.${advice}`;
}

/** True for a permission that a document or file can have; with `container`, a collection or bucket. */
export function isPermission(text: unknown, target: 'container' | 'item'): text is string {
  return (
    typeof text === 'string' && permissionForm.test(text) && (target === 'container' || !text.startsWith('create('))
  );
}

/** Splits a permission string. */
function parse(permission: string): { readonly action: string; readonly role: string } {
  const [, action = '', role = ''] = permissionForm.exec(permission) ?? [];
  return { action, role };
}

/** The stored form of a list: `write` expanded, without duplicates. Documents and files cannot grant `create`. */
export function expandPermissions(permissions: readonly string[], target: 'container' | 'item'): string[] {
  const expanded = permissions.flatMap((permission) => {
    const { action, role } = parse(permission);
    if (action === 'create' && target === 'item') {
      throw invalidParam('permissions', 'create cannot be granted on a single document or file.');
    }
    const actions =
      action === 'write'
        ? permissionActions.filter((each) => each !== 'read' && !(each === 'create' && target === 'item'))
        : [action];
    return actions.map((each) => `${each}("${role}")`);
  });
  return [...new Set(expanded)];
}

/** Cached for accounts of recurring requests. */
const rolesOfUsers = new WeakMap<UserRecord, readonly string[]>();
const guestRoles = ['any', 'guests'] as const;

/** The roles of a caller; server keys need none. */
export function rolesOf(actor: WireActor): readonly string[] {
  return rolesOfAccount(actor.kind === 'user' ? actor.account : undefined);
}

/** The roles of a user; of a guest if undefined. */
export function rolesOfAccount(account: UserRecord | undefined): readonly string[] {
  if (account === undefined) return guestRoles;
  const before = rolesOfUsers.get(account);
  if (before !== undefined) return before;
  const roles = rolesOfUser(account);
  rolesOfUsers.set(account, roles);
  return roles;
}

function rolesOfUser({ id: userId, emailVerification, phoneVerification, labels, memberships }: UserRecord): string[] {
  const state = emailVerification || phoneVerification ? 'verified' : 'unverified';
  const roles = ['any', 'users', `users/${state}`, `user:${userId}`, `user:${userId}/${state}`];
  for (const { id, teamId, roles: held } of memberships) {
    roles.push(`team:${teamId}`, `member:${id}`);
    for (const role of held) roles.push(`team:${teamId}/${role}`);
  }
  for (const label of labels) roles.push(`label:${label}`);
  return roles;
}

/** True if a list in its stored form grants the action to one of the roles. */
export function allows(permissions: readonly string[], action: PermissionAction, roles: readonly string[]): boolean {
  return roles.some((role) => permissions.includes(`${action}("${role}")`));
}

/**
 * Error for a caller without permission for the action on the container and on all of its items. The log names one permission that would
 * allow it, for the narrowest role of the caller.
 */
export function unpermitted(action: PermissionAction, actor: WireActor, container: string, id?: string): Failure {
  const [permission] = grantsOf(action, [actor.kind === 'user' ? `user:${actor.id}` : 'guests']);
  const item = id === undefined ? '' : ` or its item ${id}`;
  return new Failure('user_unauthorized', { missing: `${permission} on ${container}${item}` });
}

/** The entries of a stored list that would allow the action to one of the roles. */
export function grantsOf(action: PermissionAction, roles: readonly string[]): string[] {
  return roles.map((role) => `${action}("${role}")`);
}

/** Throws Failure unless the caller has every role that the permissions grant to; server keys may grant to any role. */
export function requireOwnRoles(permissions: readonly string[], actor: WireActor): void {
  if (actor.kind === 'key') return;
  const roles = rolesOf(actor);
  const foreign = permissions.map(parse).find(({ role }) => !roles.includes(role));
  if (foreign !== undefined) {
    throw new Failure('user_unauthorized', {
      message: `You do not have the role ${foreign.role}, so you cannot grant permissions to it.`,
    });
  }
}

/** The default permissions of an item: read, update and delete for its creator; none if created by server keys or guests. */
export function defaultPermissions(actor: WireActor): string[] {
  return actor.kind === 'user' ? ['read', 'update', 'delete'].map((action) => `${action}("user:${actor.id}")`) : [];
}

/** A group of callers with access by a rule of the source. */
export type Grant =
  | { readonly to: 'any' | 'guests' | 'users' }
  | { readonly to: 'label'; readonly label: string }
  /** The user whose id a member of the record contains; with several ids, each of these users. */
  | { readonly to: 'owner'; readonly member: string };

/** The actions of a collection with their grants. */
export interface Access {
  readonly read: readonly Grant[];
  readonly create: readonly Grant[];
  readonly update: readonly Grant[];
  readonly delete: readonly Grant[];
}

/** True if every caller of the second group is in the first. */
function covers(one: Grant, other: Grant): boolean {
  if (one.to === 'any') return true;
  if (one.to === 'users') return other.to !== 'any' && other.to !== 'guests';
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Grants to callers that both lists include. Groups overlap only if one contains the other. */
export function inBoth(one: readonly Grant[], other: readonly Grant[]): Grant[] {
  const within = (some: readonly Grant[], all: readonly Grant[]) =>
    some.filter((grant) => all.some((each) => covers(each, grant)));
  return inEither(within(one, other), within(other, one));
}

/** Grants to callers of either list, without those that another one covers. */
export function inEither(...lists: readonly (readonly Grant[])[]): Grant[] {
  const all = [...new Map(lists.flat().map((grant) => [JSON.stringify(grant), grant])).values()];
  return all.filter((grant) => !all.some((other) => other !== grant && covers(other, grant)));
}

/** True if some documents are only for their owners. */
export function hasOwners({ read, update, delete: remove }: Access): boolean {
  return [...read, ...update, ...remove].some(({ to }) => to === 'owner');
}

const actionsOfItem = ['read', 'update', 'delete'] as const;

/** The permissions of the collection or bucket itself. */
export function containerPermissions(access: Access): string[] {
  return (['read', 'create', 'update', 'delete'] as const).flatMap((action) =>
    access[action].flatMap((grant) => {
      if (grant.to === 'owner') return [];
      return `${action}("${grant.to === 'label' ? `label:${grant.label}` : grant.to}")`;
    }),
  );
}

/** Pattern of ids of users in permissions. */
const userId = /^[A-Za-z0-9][A-Za-z0-9._-]{0,35}$/;

/** The permissions of one record for its owners, whose ids `idsOf` returns. */
export function itemPermissions(access: Access, idsOf: (member: string) => readonly string[]): string[] {
  return actionsOfItem.flatMap((action) =>
    access[action].flatMap((grant) =>
      grant.to === 'owner'
        ? idsOf(grant.member)
            .filter((id) => userId.test(id))
            .map((id) => `${action}("user:${id}")`)
        : [],
    ),
  );
}

/**
 * The access without the right to create, if that would give more than the source. Where documents have permissions of their own, their
 * creators can read, change and delete them.
 */
export function withSafeCreation(access: Access): { readonly access: Access; readonly problem?: string } {
  if (access.create.length === 0 || !hasOwners(access)) return { access };
  const lacking = actionsOfItem.filter((action) => access[action].length === 0);
  if (lacking.length === 0) return { access };
  return {
    access: { ...access, create: [] },
    problem: `Users that create documents could also ${lacking.join(' and ')} them, which the source does not allow.`,
  };
}

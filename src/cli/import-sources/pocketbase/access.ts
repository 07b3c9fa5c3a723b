import { type Access, type Grant, inBoth, withSafeCreation } from '../grants.js';
import type { UnsupportedList } from '../unsupported-list.js';
import type { PocketBaseCollection } from './collections.js';
import { isListField } from './fields.js';
import { mappedRule, type RuleContext } from './rules.js';

/** Groups of users of the auth collections. */
export interface UserGroups {
  readonly users: readonly Grant[];
  readonly labels: ReadonlyMap<string, string>;
  pocketBaseUsers(collection: string): Grant | undefined;
}

/**
 * Groups of the users of auth collections. If sign-up is closed in PocketBase, rules for all users do not become the role
 * `users`, because sign-up is open in a project: they become labels, which only server keys give.
 */
export function userGroups(collections: readonly PocketBaseCollection[]): UserGroups {
  const auth = collections.filter(({ type, system }) => type === 'auth' && !system);
  const labels = new Map(auth.map(({ id, name }) => [id, name.replace(/[^A-Za-z0-9]/g, '').slice(0, 36)]));
  const isClear = new Set(labels.values()).size === labels.size && ![...labels.values()].includes('');
  const isOpen = auth.some(({ createRule }) => createRule?.trim() === '');
  const labelOf = (id: string): Grant[] => (isClear ? [{ to: 'label', label: labels.get(id) ?? '' }] : []);
  const users: Grant[] = isOpen ? [{ to: 'users' }] : auth.flatMap(({ id }) => labelOf(id));
  return {
    labels: isClear && (auth.length > 1 || !isOpen) ? labels : new Map(),
    users,
    pocketBaseUsers: (collection) => {
      const found = auth.find(({ id, name }) => id === collection || name === collection);
      if (found === undefined) return undefined;
      return auth.length === 1 ? users[0] : labelOf(found.id)[0];
    },
  };
}

/** Members of a record that can contain ids of users. */
function ownersOf({ type, fields }: PocketBaseCollection, isAuth: (id: string) => boolean): RuleContext['owners'] {
  const found = fields.flatMap((field): [string, 'one' | 'several'][] => {
    const { name, type: kind, collectionId } = field;
    if (name === 'id') return type === 'auth' ? [[name, 'one']] : [];
    if (kind === 'text') return [[name, 'one']];
    return kind === 'relation' && isAuth(collectionId ?? '') ? [[name, isListField(field) ? 'several' : 'one']] : [];
  });
  return new Map(found);
}

const ruleNames = ['listRule', 'viewRule', 'createRule', 'updateRule', 'deleteRule'] as const;

/** Maps the rules of a collection. What no permission expresses is added to the list. */
export function ruleAccess(
  collection: PocketBaseCollection,
  { users, pocketBaseUsers }: UserGroups,
  isAuth: (id: string) => boolean,
  unsupported: UnsupportedList,
): Access {
  const { name } = collection;
  const context: RuleContext = { owners: ownersOf(collection, isAuth), users, pocketBaseUsers };
  const [list, view, create, update, remove] = ruleNames.map((rule) => {
    const mapped = mappedRule(collection[rule], context);
    for (const part of mapped.left)
      unsupported.add('rule', `${name}.${rule}: no permission expresses ${part}. This part grants nothing here.`);
    return mapped.grants;
  }) as [readonly Grant[], readonly Grant[], readonly Grant[], readonly Grant[], readonly Grant[]];
  const read = inBoth(list, view);
  if (JSON.stringify(inBoth(read, list)) !== JSON.stringify(list) || read.length < view.length)
    unsupported.add('rule', `${name}: listRule and viewRule differ. Only callers that both allow can read documents.`);
  const owned = create.filter(({ to }) => to === 'owner');
  if (owned.length > 0)
    unsupported.add(
      'rule',
      `${name}.createRule: no permission expresses ${collection.createRule}. Documents can be created by server keys, or by all users after you grant create to users, and then the service does not check the owner.`,
    );
  const whole: Access = { read, create: create.filter(({ to }) => to !== 'owner'), update, delete: remove };
  const { access, problem } = withSafeCreation(whole);
  if (problem !== undefined) unsupported.add('rule', `${name}.createRule: ${problem}`);
  return access;
}

/** True if only the user of a record can read and change it. */
export function isPrivate({ read, update }: Access): boolean {
  const isOwn = (grants: readonly Grant[]) =>
    grants.length === 1 && grants[0]?.to === 'owner' && grants[0].member === 'id';
  return isOwn(read) && isOwn(update);
}

/** Access for server keys only. */
export const noAccess: Access = { read: [], create: [], update: [], delete: [] };

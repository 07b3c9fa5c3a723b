import { isDeepStrictEqual } from 'node:util';
import { usageError } from '../terminal/exit.js';
import type { Item, ItemMembers, Kind } from './items.js';

/** The password cannot be read again. It is set with the webhook, and with each other change of it. */
const unreadable = ['authPassword'];
/** Members that a file has as `env:NAME` or `file:PATH`. */
export const secretMembers = ['clientSecret', ...unreadable];

/** A difference between a project and its file. */
export interface Change {
  readonly action: 'create' | 'update' | 'delete';
  readonly kind: Kind;
  readonly path: readonly string[];
  /** The members in the file or, for a deletion, in the project. */
  readonly members: ItemMembers;
  /** The members that differ, with both values. */
  readonly differences: Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;
}

/**
 * Lists the changes that make the project match the file, in the order of the file. With `prune`, deletions of all other items follow, children
 * before their parents.
 */
export function changesOf(wanted: readonly Item[], present: readonly Item[], prune: boolean): Change[] {
  const known = new Map(present.map((item) => [labelOf(item), item]));
  const changes = wanted.flatMap((item): Change[] => {
    const before = known.get(labelOf(item));
    if (before === undefined) return [{ ...item, action: 'create', differences: {} }];
    const different = Object.entries(item.members).filter(
      ([member, value]) => !unreadable.includes(member) && !isDeepStrictEqual(value, before.members[member]),
    );
    if (different.length === 0) return [];
    const differences = different.map(([member, to]) => [member, { from: before.members[member], to }]);
    return [{ ...item, action: 'update', differences: Object.fromEntries(differences) }];
  });
  if (!prune) return changes;
  const named = new Set(wanted.map(labelOf));
  const gone = present.filter((item) => item.kind !== 'project' && !named.has(labelOf(item)));
  // What goes with its database or collection, and a relationship with the collection that it leads to, needs no step of its own.
  const places = new Set(gone.map(labelOf));
  const alone = gone.filter(({ kind, path, members }) => {
    const [databaseId, collectionId] = path;
    if (kind === 'collection') return !places.has(`database ${databaseId}`);
    if (kind !== 'attribute' && kind !== 'index') return true;
    const collections = [collectionId, members.relatedCollection].filter((id) => id !== undefined);
    return ![`database ${databaseId}`, ...collections.map((id) => `collection ${databaseId}/${id}`)].some((place) =>
      places.has(place),
    );
  });
  return [...changes, ...alone.reverse().map((item): Change => ({ ...item, action: 'delete', differences: {} }))];
}

/**
 * Numbers keys of one name after the first, so that each has a place of its own. A key of the file gets the number of a present one with the
 * same scopes and expiry, if there is one.
 */
export function numberedKeys(wanted: readonly Item[], present: readonly Item[]): { wanted: Item[]; present: Item[] } {
  const numbered = numberedInOrder(present);
  const free = numbered.filter(({ kind }) => kind === 'key');
  const taken = new Map<Item, Item>();
  for (const item of wanted.filter(({ kind }) => kind === 'key')) {
    const at = free.findIndex(
      ({ path, members }) => path[0] === item.path[0] && isDeepStrictEqual(members, item.members),
    );
    const [same] = at < 0 ? [] : free.splice(at, 1);
    if (same !== undefined) taken.set(item, same);
  }
  const used = new Set([...taken.values()].map(labelOf));
  const others = numberedInOrder(
    wanted.filter((item) => !taken.has(item)),
    used,
  );
  const left = others.values();
  return { wanted: wanted.map((item) => taken.get(item) ?? (left.next().value as Item)), present: numbered };
}

function numberedInOrder(items: readonly Item[], used: ReadonlySet<string> = new Set()): Item[] {
  const places = new Set(used);
  return items.map((item) => {
    if (item.kind !== 'key') return item;
    let path = item.path;
    for (let number = 2; places.has(labelOf({ ...item, path })); number++) path = [...item.path, String(number)];
    places.add(labelOf({ ...item, path }));
    return { ...item, path };
  });
}

/** Throws CommandError if a file names something twice. */
export function requireOnce(items: readonly Item[]): void {
  const places = new Set<string>();
  // Several keys can have one name.
  for (const place of items.filter(({ kind }) => kind !== 'key').map(labelOf)) {
    if (places.has(place)) throw usageError(`The file names the ${place} twice.`, 'remove one of them');
    places.add(place);
  }
}

/** Such as `attribute blog/posts/title`. */
export function labelOf({ kind, path }: Pick<Item, 'kind' | 'path'>): string {
  return `${kind} ${path.join('/')}`;
}

/** A line for each change, with what differs below it. Secrets are not printed. */
export function changeLines(changes: readonly Change[]): string[] {
  const signs = { create: '+', update: '~', delete: '-' } as const;
  return changes.flatMap((change) => [
    `${signs[change.action]} ${labelOf(change)}`,
    ...(change.action === 'create' ? calledBy(change) : []),
    ...Object.entries(change.differences).map(([member, { from, to }]) =>
      secretMembers.includes(member) ? `    ${member}: another one` : `    ${member}: ${print(from)} -> ${print(to)}`,
    ),
  ]);
}

/** The addresses of a new provider or webhook. */
function calledBy({ members }: Change): string[] {
  const addresses = ['issuer', 'tenant', 'metadataUrl', 'ssoUrl', 'url'].filter(
    (member) => members[member] !== undefined,
  );
  return addresses.map((member) => `    ${member}: ${print(members[member])}`);
}

function print(value: unknown): string {
  if (value === undefined || value === null) return 'none';
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}

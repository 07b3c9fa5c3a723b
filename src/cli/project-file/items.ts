import { X509Certificate } from 'node:crypto';
import { expandPermissions } from '#src/contract/permissions.js';
import type { FileAttribute, FileCollection, FileDatabase, FileIndex, ProjectFile } from './file.js';

/** The kinds of items in a project file. */
export type Kind =
  | 'project'
  | 'platform'
  | 'provider'
  | 'team'
  | 'database'
  | 'collection'
  | 'attribute'
  | 'index'
  | 'bucket'
  | 'webhook'
  | 'key';

export type ItemMembers = Readonly<Record<string, unknown>>;

/** An item of a project, normalized for comparison. */
export interface Item {
  readonly kind: Kind;
  /** The ids that lead to it: of a database, of a collection, its own. */
  readonly path: readonly string[];
  /** Members that are not given are left as they are. */
  readonly members: ItemMembers;
}

/** The members that an attribute has if the file does not name them. */
const plainAttribute = { required: false, array: false, encrypt: false, default: null } as const;
const noBounds = new Set([String(-(2n ** 63n)), String(2n ** 63n - 1n), String(2 ** 63), String(-(2 ** 63))]);

/** The items of a project file, ordered so that each comes after those it needs. */
export function itemsOf(file: ProjectFile): Item[] {
  const { $id, name, settings = {} } = file.project;
  const named = name === undefined ? {} : { name };
  const items: Item[] = [{ kind: 'project', path: [$id], members: { ...named, ...settings } }];
  for (const one of file.platforms ?? []) {
    const place = 'hostname' in one ? ['web', one.hostname] : [one.type, one.package];
    items.push({ kind: 'platform', path: place, members: { name: one.name } });
  }
  for (const { key, ...members } of file.providers ?? [])
    items.push({ kind: 'provider', path: [key], members: { ...members, certificates: certificatesOf(members) } });
  for (const { $id, ...members } of file.teams ?? []) items.push({ kind: 'team', path: [$id], members });
  items.push(...schemaItems(file.databases ?? []));
  for (const { $id, $permissions, allowedFileExtensions, ...members } of file.buckets ?? [])
    items.push({
      kind: 'bucket',
      path: [$id],
      members: {
        ...members,
        $permissions: permissionsOf($permissions),
        allowedFileExtensions: allowedFileExtensions && sorted(allowedFileExtensions),
      },
    });
  for (const { $id, events, ...members } of file.webhooks ?? [])
    items.push({ kind: 'webhook', path: [$id], members: { ...members, events: sorted(events) } });
  // Last, because their secrets are shown once, and nothing after them can fail.
  for (const key of file.keys ?? []) items.push({ kind: 'key', path: [key.name], members: keyMembers(key) });
  return items.map((item) => ({ ...item, members: given(item.members) }));
}

/** The members of a server key that are compared. */
export function keyMembers(key: { readonly scopes: readonly string[]; readonly expire?: string | null | undefined }) {
  return { scopes: sorted(key.scopes), expire: key.expire ?? null };
}

function schemaItems(databases: readonly FileDatabase[]): Item[] {
  const collections = databases.flatMap(({ $id, collections = [] }) =>
    collections.map((one): [string[], FileCollection] => [[$id, one.$id], one]),
  );
  const attributes = collections.flatMap(([path, { attributes = [] }]) =>
    attributes.map(({ key, ...one }): Item => ({ kind: 'attribute', path: [...path, key], members: attributeOf(one) })),
  );
  const isRelation = ({ members }: Item) => members.type === 'relationship';
  return [
    ...databases.map(({ $id, name, enabled }): Item => ({ kind: 'database', path: [$id], members: { name, enabled } })),
    ...collections.map(([path, { name, enabled, documentSecurity, $permissions }]): Item => {
      const members = { name, enabled, documentSecurity, $permissions: permissionsOf($permissions) };
      return { kind: 'collection', path, members };
    }),
    // A relationship needs the collection that it leads to.
    ...attributes.filter((one) => !isRelation(one)),
    ...attributes.filter(isRelation),
    ...collections.flatMap(([path, { indexes = [] }]) =>
      indexes.map(({ key, ...one }): Item => ({ kind: 'index', path: [...path, key], members: indexOf(one) })),
    ),
  ];
}

function attributeOf(attribute: Omit<FileAttribute, 'key'>): ItemMembers {
  const { min, max, twoWayKey, ...members } = given(attribute) as typeof attribute;
  if (attribute.type === 'relationship')
    // The key at the other side of a one-way relationship is internal.
    return { twoWay: false, onDelete: 'restrict', ...members, ...(members.twoWay ? { twoWayKey } : {}) };
  return { ...plainAttribute, min: boundOf(min), max: boundOf(max), ...members };
}

function boundOf(bound: number | bigint | null | undefined): number | bigint | null {
  return bound === undefined || isNoBound(bound) ? null : bound;
}

/** True for a bound that admits every number of the type. */
export function isNoBound(bound: number | bigint | null): boolean {
  return bound === null || noBounds.has(String(bound)) || Math.abs(Number(bound)) === Number.MAX_VALUE;
}

function indexOf({ type, attributes, orders, lengths }: Omit<FileIndex, 'key'>) {
  return {
    type,
    attributes,
    orders: attributes.map((_, at) => (orders?.[at] ?? 'ASC').toUpperCase()),
    lengths: lengths?.some((length) => length) ? lengths.map((length) => length ?? 0) : [],
  };
}

/** Certificates as they are stored. An invalid one stays, so that it is refused. */
function certificatesOf({ certificates }: ItemMembers): unknown {
  if (!Array.isArray(certificates)) return certificates;
  return certificates.map((pem) => {
    try {
      return new X509Certificate(String(pem)).toString();
    } catch {
      return pem;
    }
  });
}

function permissionsOf(permissions: readonly string[] | undefined): string[] | undefined {
  return permissions && sorted(expandPermissions(permissions, 'container'));
}

function sorted(list: readonly string[]): string[] {
  return [...new Set(list)].sort();
}

function given(members: ItemMembers): ItemMembers {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

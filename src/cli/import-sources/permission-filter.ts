import { isPermission } from '#src/contract/permissions.js';
import type { RefusedLine } from '../document-records/refused-lines.js';
import type { ProjectFile } from '../project-file/file.js';
import type { Unsupported } from './source.js';
import { createUnsupportedList } from './unsupported-list.js';

/** Leaves out permissions that could get to the wrong users, and those that do not exist here. */
export interface PermissionFilter {
  /** Marks a user of the source that was not imported. Another person has the id here, or can take it later. */
  refuse(userId: string): void;
  isRefused(userId: string): boolean;
  /** The permissions of a document or file that remain. The others are reported. */
  ofItem(id: string, permissions: readonly string[]): Promise<string[]>;
  /** The schema with the permissions of collections and buckets that remain. */
  ofSchema(schema: ProjectFile): Promise<ProjectFile>;
  /** Counts of the permissions that were left out. */
  unsupported(): readonly Unsupported[];
}

/** The id of a user in a permission. */
const userOf = /^\w+\("user:([^/"]+)/;

/** Creates a filter. `report` receives the permissions that are left out. */
export function createPermissionFilter(report: (refused: RefusedLine) => Promise<void>): PermissionFilter {
  const refused = new Set<string>();
  const counts = { refused: 0, unknown: 0 };
  const remaining = async (id: string, permissions: readonly string[], target: 'container' | 'item') => {
    const kept: string[] = [];
    for (const one of permissions) {
      const isKnown = isPermission(one, target);
      if (isKnown && !refused.has(userOf.exec(one)?.[1] ?? '')) {
        kept.push(one);
        continue;
      }
      counts[isKnown ? 'refused' : 'unknown'] += 1;
      const [type, reason] = isKnown
        ? ['user_refused', 'the user was not imported']
        : ['permission_unknown', 'it is no permission here'];
      await report({ kind: 'permissions', id, type, message: `${JSON.stringify(one)} is left out: ${reason}.` });
    }
    return kept;
  };
  const ofContainer = async <T extends { readonly $permissions?: readonly string[] | undefined }>(
    id: string,
    one: T,
  ) =>
    one.$permissions === undefined ? one : { ...one, $permissions: await remaining(id, one.$permissions, 'container') };
  return {
    refuse: (userId) => void refused.add(userId),
    isRefused: (userId) => refused.has(userId),
    ofItem: (id, permissions) => remaining(id, permissions, 'item'),
    ofSchema: async (schema) => {
      const databases = [];
      for (const database of schema.databases ?? []) {
        const collections = [];
        for (const one of database.collections ?? [])
          collections.push(await ofContainer(`${database.$id}/${one.$id}`, one));
        databases.push({ ...database, collections });
      }
      const buckets = [];
      for (const one of schema.buckets ?? []) buckets.push(await ofContainer(one.$id, one));
      return { ...schema, databases, buckets };
    },
    unsupported: () => {
      const left = createUnsupportedList();
      left.add(
        'permissions of users',
        'These users were not imported, and somebody else could take their ids. The report lists the permissions; they come with the next import after the users.',
        counts.refused,
      );
      left.add(
        'permissions',
        'They are empty or have an action, a role or an id that does not exist here. The report lists them.',
        counts.unknown,
      );
      return left.all();
    },
  };
}

import { soughtAddress } from '#src/contract/email-address.js';
import type { Sql } from '#src/platform/db/query.js';
import { raw } from '#src/platform/db/template.js';
import { commonFields, type ListField } from '#src/platform/list-query/index.js';

/** Attributes that list queries of targets may use. */
export const targetFields = {
  ...commonFields,
  userId: { column: 'user_id', type: 'text' },
  providerId: { column: 'provider_id', type: 'text', nullable: true },
  providerType: { column: 'provider_type', type: 'text' },
  identifier: { column: 'identifier', type: 'text', stored: soughtAddress },
  name: { column: 'name', type: 'text', nullable: true },
} as const satisfies Readonly<Record<string, ListField>>;

const members = {
  id: 'id',
  created_at: 'createdAt',
  updated_at: 'updatedAt',
  provider_id: 'providerId',
  provider_type: 'providerType',
  identifier: 'identifier',
  name: 'name',
} as const;

/** SQL over the targets of a user, which are a JSON array in the user's row. */
export function createTargetStore(sql: Sql) {
  const columns = raw(
    Object.entries(members)
      .map(([column, name]) => `target.value ->> '${name}' as ${column}`)
      .join(', '),
  );
  const each = raw(sql.words.eachInJson('target', 'users.targets'));
  return {
    rows: (projectId: string, userId: string) => ({
      from: sql`
        (select ${columns}, users.id as user_id, cast(target.value as text) as packed from users cross join ${each}
        where users.project_id = ${projectId} and users.id = ${userId}) as targets`,
      where: raw('true'),
    }),
  };
}

import { soughtAddress } from '#src/contract/email-address.js';
import type { Sql } from '#src/platform/db/query.js';
import { commonFields, type ListField } from '#src/platform/list-query/index.js';
import { userTable } from '../../users/index.js';

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
export function createTargetStore({ words, knex }: Pick<Sql, 'words' | 'knex'>) {
  const columns = Object.entries(members).map(([column, name]) => `target.value ->> '${name}' as ${column}`);
  return {
    packed: () => knex.raw('packed'),
    ofUser: (projectId: string, userId: string) =>
      knex(
        knex(userTable.name)
          .joinRaw(`cross join ${words.eachInJson('target', 'users.targets')}`)
          .where({ 'users.project_id': projectId, 'users.id': userId })
          .select(knex.raw([...columns, 'users.id as user_id', 'cast(target.value as text) as packed'].join(', ')))
          .as('targets'),
      ),
  };
}

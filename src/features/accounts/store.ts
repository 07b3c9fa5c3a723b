import type { Account, AccountMembership, Target } from '#src/contract/account.js';
import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bool, json, nullable, table, text } from '#src/platform/db/table.js';

/** End users. The project is part of every key, so that a query cannot forget it. */
export const users = table<Account & { readonly projectId: string }>('users', {
  projectId: text,
  id: text,
  name: text,
  email: nullable(text),
  phone: nullable(text),
  emailVerification: bool,
  phoneVerification: bool,
  passwordHash: nullable(text),
  passwordUpdate: nullable(text),
  status: bool,
  mfa: bool,
  labels: json<readonly string[]>(),
  prefs: json<Readonly<Record<string, unknown>>>(),
  targets: json<readonly Target[]>(),
  locale: nullable(text),
  memberships: json<readonly AccountMembership[]>(),
  accessedAt: nullable(text),
  createdAt: text,
  updatedAt: text,
});

/** What of an account can change. */
export type AccountChange = Partial<Omit<Account, 'id' | 'createdAt'>>;

/** SQL over the users of a project. */
export function createAccountStore(sql: Sql) {
  const { knex } = sql;
  const own = (projectId: string, id: string) => knex(users.name).where({ project_id: projectId, id });
  const found = (projectId: string, search = '') => {
    const all = knex(users.name).where({ project_id: projectId });
    if (search === '') return all;
    const pattern = `%${search.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`;
    return all.whereRaw(
      "(lower(name) like ? escape '\\' or lower(email) like ? escape '\\' or lower(id) like ? escape '\\')",
      [pattern, pattern, pattern],
    );
  };
  return {
    find: sql.prepare<{ projectId: string; id: string }>((k, p) =>
      k(users.name).where({ project_id: p.projectId, id: p.id }).select(users.select(sql)),
    ),
    /** Keeps others from changing the user until the unit ends; on SQLite a unit is alone anyway, and knex leaves the words out. */
    hold: sql.prepare<{ projectId: string; id: string }>((k, p) =>
      k(users.name).where({ project_id: p.projectId, id: p.id }).forUpdate().select(users.select(sql)),
    ),
    findByEmail: sql.prepare<{ projectId: string; email: string }>((k, p) =>
      k(users.name).where({ project_id: p.projectId, email: p.email }).select(users.select(sql)),
    ),
    /** The same by an address. */
    holdByContact: (projectId: string, contact: 'email' | 'phone', value: string): Query =>
      sql.compile(
        knex(users.name)
          .where({ project_id: projectId, [contact]: value })
          .forUpdate()
          .select(users.select(sql)),
      ),
    /** Returns a row exactly when the id and the e-mail address were free. */
    insert: (projectId: string, account: Account): Query =>
      sql.compile(
        knex(users.name)
          .insert(users.encode({ ...account, projectId }))
          .onConflict()
          .ignore()
          .returning('id'),
      ),
    update: (projectId: string, id: string, change: AccountChange): Query =>
      sql.compile(own(projectId, id).update(users.encodeSome(change))),
    touch: sql.prepare<{ projectId: string; id: string; now: Instant }>((k, p) =>
      k(users.name).where({ project_id: p.projectId, id: p.id }).update({ accessed_at: p.now }),
    ),
    arrive: sql.prepare<{ projectId: string; id: string; now: Instant }>((k, p) =>
      k(users.name)
        .where({ project_id: p.projectId, id: p.id })
        .update({ accessed_at: p.now })
        .returning(users.select(sql)),
    ),
    /** Returns a row when another user has the address or the phone number. */
    otherWith: (column: 'email' | 'phone', projectId: string, id: string, value: string): Query =>
      sql.compile(
        knex(users.name)
          .where({ project_id: projectId, [column]: value })
          .whereNot({ id })
          .select('id'),
      ),
    remove: (projectId: string, id: string): Query => sql.compile(own(projectId, id).delete()),
    list: (projectId: string, search: string | undefined, limit: number, offset: number): Query =>
      sql.compile(
        found(projectId, search).orderBy(['created_at', 'id']).limit(limit).offset(offset).select(users.select(sql)),
      ),
    count: (projectId: string, search: string | undefined): Query =>
      sql.compile(found(projectId, search).count({ total: '*' })),
  };
}

import type { Instant } from '#src/contract/shapes.js';
import type { Target, UserMembership, UserRecord } from '#src/contract/user.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bool, instant, json, nullable, table, text } from '#src/platform/db/table.js';
import { commonFields, type ListField } from '#src/platform/list-query/index.js';
import type { SealedColumn } from '#src/platform/sealing.js';

/** End users. The project is part of every key, so that a query cannot forget it. */
export const userTable = table<UserRecord & { readonly projectId: string }>('users', {
  projectId: text,
  id: text,
  name: text,
  email: nullable(text),
  phone: nullable(text),
  emailVerification: bool,
  phoneVerification: bool,
  emailVouched: bool,
  phoneVouched: bool,
  passwordHash: nullable(text),
  passwordUpdate: nullable(instant),
  status: bool,
  mfa: bool,
  labels: json<readonly string[]>(),
  prefs: json<Readonly<Record<string, unknown>>>(),
  targets: json<readonly Target[]>(),
  locale: nullable(text),
  memberships: json<readonly UserMembership[]>(),
  accessedAt: nullable(instant),
  createdAt: instant,
  updatedAt: instant,
});

/** Where hashes of passwords are sealed. */
export const sealedPasswords: SealedColumn = {
  table: userTable.name,
  column: 'password_hash',
  key: 'id',
  order: ['project_id', 'id'],
  before: () => 'users|password_hash',
};

/** What queries of lists of users may speak of. */
export const userFields = {
  ...commonFields,
  registration: { column: 'created_at', type: 'instant' },
  name: { column: 'name', type: 'text' },
  email: { column: 'email', type: 'text', nullable: true },
  phone: { column: 'phone', type: 'text', nullable: true },
  status: { column: 'status', type: 'boolean' },
  mfa: { column: 'mfa', type: 'boolean' },
  emailVerification: { column: 'email_verification', type: 'boolean' },
  phoneVerification: { column: 'phone_verification', type: 'boolean' },
  passwordUpdate: { column: 'password_update', type: 'instant', nullable: true },
  accessedAt: { column: 'accessed_at', type: 'instant', nullable: true },
  labels: { column: 'labels', type: 'texts' },
} as const satisfies Readonly<Record<string, ListField>>;

/** What of an account can change. */
export type UserChange = Partial<Omit<UserRecord, 'id' | 'createdAt'>>;

/** SQL over the users of a project. */
export function createUserStore(sql: Sql) {
  const { knex } = sql;
  const own = (projectId: string, id: string) => knex(userTable.name).where({ project_id: projectId, id });
  return {
    find: sql.prepare<{ projectId: string; id: string }>((k, p) =>
      k(userTable.name).where({ project_id: p.projectId, id: p.id }).select(userTable.select(sql)),
    ),
    /** Keeps others from changing the user until the unit ends; SQLite runs one unit at a time, and knex leaves `for update` out there. */
    lockById: sql.prepare<{ projectId: string; id: string }>((k, p) =>
      k(userTable.name).where({ project_id: p.projectId, id: p.id }).forUpdate().select(userTable.select(sql)),
    ),
    findByEmail: sql.prepare<{ projectId: string; email: string }>((k, p) =>
      k(userTable.name).where({ project_id: p.projectId, email: p.email }).select(userTable.select(sql)),
    ),
    /** The same by an address or a number. */
    lockByContact: (projectId: string, contact: 'email' | 'phone', value: string): Query =>
      sql.compile(
        knex(userTable.name)
          .where({ project_id: projectId, [contact]: value })
          .forUpdate()
          .select(userTable.select(sql)),
      ),
    findByPhone: sql.prepare<{ projectId: string; phone: string }>((k, p) =>
      k(userTable.name).where({ project_id: p.projectId, phone: p.phone }).select(userTable.select(sql)),
    ),
    /** Returns a row exactly when the id and the e-mail address were free. */
    insert: (projectId: string, account: UserRecord): Query =>
      sql.compile(
        knex(userTable.name)
          .insert(userTable.encode({ ...account, projectId }))
          .onConflict()
          .ignore()
          .returning('id'),
      ),
    update: (projectId: string, id: string, change: UserChange): Query =>
      sql.compile(own(projectId, id).update(userTable.encodeSome(change))),
    touchAccess: sql.prepare<{ projectId: string; id: string; now: Instant }>((k, p) =>
      k(userTable.name).where({ project_id: p.projectId, id: p.id }).update({ accessed_at: p.now }),
    ),
    lockAndTouch: sql.prepare<{ projectId: string; id: string; now: Instant }>((k, p) =>
      k(userTable.name)
        .where({ project_id: p.projectId, id: p.id })
        .update({ accessed_at: p.now })
        .returning(userTable.select(sql)),
    ),
    /** Returns a row when another user has the address or the phone number. */
    otherWith: (column: 'email' | 'phone', projectId: string, id: string, value: string): Query =>
      sql.compile(
        knex(userTable.name)
          .where({ project_id: projectId, [column]: value })
          .whereNot({ id })
          .select('id'),
      ),
    /**
     * Passwords of users with an address, some 128 to 256 of them: every n-th in the order of the addresses, so that each way in which users
     * came to be has its share. Only the index of the addresses is read in full.
     */
    someHashes: sql.prepare<{ projectId: string }>((k, p) => {
      const addressed = () => k(userTable.name).where({ project_id: p.projectId }).whereNotNull('email');
      const numbered = addressed().select('email', k.raw('row_number() over (order by email) as place')).as('numbered');
      const step = addressed().select(k.raw('1 + count(*) / 256'));
      const chosen = k(numbered).whereRaw('place % (?) = 0', [step]).select('email');
      return k(userTable.name)
        .where({ project_id: p.projectId })
        .whereIn('email', chosen)
        .whereNotNull('password_hash')
        .select('id', 'password_hash');
    }),
    remove: (projectId: string, id: string): Query => sql.compile(own(projectId, id).delete()),
    ofProject: (projectId: string) => knex(userTable.name).where({ project_id: projectId }),
  };
}

/** The store of users. */
export type UserStore = ReturnType<typeof createUserStore>;

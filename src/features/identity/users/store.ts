import { soughtAddress } from '#src/contract/email-address.js';
import type { Instant } from '#src/contract/shapes.js';
import type { UserMembership, UserRecord, UserTarget } from '#src/contract/user.js';
import type { SealedColumn } from '#src/platform/crypto/sealing.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bool, instant, jsonText, nullable, table, text } from '#src/platform/db/table.js';
import { forUpdate, raw } from '#src/platform/db/template.js';
import { commonFields, type ListField } from '#src/platform/list-query/index.js';
import { bind } from '#src/platform/runtime/bind.js';

/** End users. Every key contains the project, so that a query cannot forget it. */
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
  labels: jsonText<readonly string[]>(),
  prefs: jsonText<Readonly<Record<string, unknown>>>(),
  targets: jsonText<readonly UserTarget[]>(),
  locale: nullable(text),
  memberships: jsonText<readonly UserMembership[]>(),
  accessedAt: nullable(instant),
  createdAt: instant,
  updatedAt: instant,
});

/** The sealed column of password hashes. */
export const sealedPasswords: SealedColumn = {
  table: userTable.name,
  column: 'password_hash',
  key: 'id',
  order: ['project_id', 'id'],
  before: () => 'users|password_hash',
};

/** Attributes that list queries of users may use. */
export const userFields = {
  ...commonFields,
  registration: { column: 'created_at', type: 'instant', index: 'order' },
  name: { column: 'name', type: 'text', index: 'order' },
  email: { column: 'email', type: 'text', nullable: true, index: 'unique', stored: soughtAddress },
  phone: { column: 'phone', type: 'text', nullable: true, index: 'unique' },
  status: { column: 'status', type: 'boolean' },
  mfa: { column: 'mfa', type: 'boolean' },
  emailVerification: { column: 'email_verification', type: 'boolean' },
  phoneVerification: { column: 'phone_verification', type: 'boolean' },
  passwordUpdate: { column: 'password_update', type: 'instant', nullable: true },
  accessedAt: { column: 'accessed_at', type: 'instant', nullable: true },
  labels: { column: 'labels', type: 'texts' },
} as const satisfies Readonly<Record<string, ListField>>;

/** Members of a user that can change. */
export type UserChange = Partial<Omit<UserRecord, 'id' | 'createdAt'>>;

type Contact = 'email' | 'phone';

type UserKey = Readonly<Record<'projectId' | 'id', string>>;

/** Queries over users. */
export type UserStore = ReturnType<typeof createUserStore>;

/** SQL over the users of a project. */
export function createUserStore(sql: Sql) {
  return {
    find: ({ projectId, id }: UserKey) =>
      sql`select ${userTable.row} from users where project_id = ${projectId} and id = ${id}`,
    /** Locks the user until the unit ends. */
    lockById: ({ projectId, id }: UserKey) =>
      sql`select ${userTable.row} from users where project_id = ${projectId} and id = ${id}${forUpdate}`,
    findByEmail: ({ projectId, email }: { projectId: string; email: string }) =>
      sql`select ${userTable.row} from users where project_id = ${projectId} and email = ${email}`,
    findByPhone: ({ projectId, phone }: { projectId: string; phone: string }) =>
      sql`select ${userTable.row} from users where project_id = ${projectId} and phone = ${phone}`,
    /** `lockById` by email address or phone number. */
    lockByContact: (projectId: string, contact: Contact, value: string) =>
      sql`select ${userTable.row} from users where project_id = ${projectId} and ${raw(contact)} = ${value}${forUpdate}`,
    touchAccess: ({ projectId, id, now }: UserKey & { now: Instant }) =>
      sql`update users set accessed_at = ${now} where project_id = ${projectId} and id = ${id}`,
    lockAndTouch: ({ projectId, id, now }: UserKey & { now: Instant }) => sql`
      update users set accessed_at = ${now} where project_id = ${projectId} and id = ${id} returning ${userTable.row}`,
    update: (projectId: string, id: string, change: UserChange) =>
      sql`update users set ${userTable.set(change)} where project_id = ${projectId} and id = ${id}`,
    remove: (projectId: string, id: string) => sql`delete from users where project_id = ${projectId} and id = ${id}`,
    /** Returns no row if the id, the address or the number is taken. */
    insert: (projectId: string, account: UserRecord) =>
      sql`${userTable.insert({ ...account, projectId })} on conflict do nothing returning id`,
    /** Returns a row if another user has the address or the phone number. */
    otherWith: (contact: Contact, projectId: string, id: string, value: string) =>
      sql`select id from users where project_id = ${projectId} and ${raw(contact)} = ${value} and not id = ${id}`,
    rows: (projectId: string) => ({ from: raw('users'), where: sql`project_id = ${projectId}` }),
    ...bind(sql, { someHashes }),
  };
}

/**
 * Password hashes of about 128 to 256 users with an address (all of them in smaller projects): every n-th in the order of the addresses, so
 * that users of every origin are represented. Reads only the index of the addresses in full.
 */
function someHashes(sql: Sql, { projectId }: { projectId: string }): Query {
  const addressed = sql`from users where project_id = ${projectId} and email is not null`;
  const numbered = sql`select email, row_number() over (order by email) as place ${addressed}`;
  const step = sql`select 1 + count(*) / 256 ${addressed}`;
  const chosen = sql`select email from (${numbered}) as numbered where place % (${step}) = 0`;
  return sql`
    select id, password_hash from users
    where project_id = ${projectId} and email in (${chosen}) and password_hash is not null`;
}

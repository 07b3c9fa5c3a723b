import { soughtAddress } from '#src/contract/email-address.js';
import type { Instant } from '#src/contract/shapes.js';
import type { UserMembership, UserRecord, UserTarget } from '#src/contract/user.js';
import type { SealedColumn } from '#src/platform/crypto/sealing.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bool, instant, jsonText, nullable, table, text } from '#src/platform/db/table.js';
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

/** Queries over users. */
export type UserStore = ReturnType<typeof createUserStore>;

const { name } = userTable;

/** SQL over the users of a project. */
export function createUserStore(sql: Sql) {
  const { knex, compile } = sql;
  const own = (projectId: string, id: string) => knex(name).where({ project_id: projectId, id });
  return {
    find: sql.prepare<{ projectId: string; id: string }>((k, p) =>
      k(name).where({ project_id: p.projectId, id: p.id }).select(userTable.select(sql)),
    ),
    /** Locks the user until the unit ends. knex omits `for update` on SQLite, which runs one unit at a time. */
    lockById: sql.prepare<{ projectId: string; id: string }>((k, p) =>
      k(name).where({ project_id: p.projectId, id: p.id }).forUpdate().select(userTable.select(sql)),
    ),
    findByEmail: sql.prepare<{ projectId: string; email: string }>((k, p) =>
      k(name).where({ project_id: p.projectId, email: p.email }).select(userTable.select(sql)),
    ),
    findByPhone: sql.prepare<{ projectId: string; phone: string }>((k, p) =>
      k(name).where({ project_id: p.projectId, phone: p.phone }).select(userTable.select(sql)),
    ),
    touchAccess: sql.prepare<{ projectId: string; id: string; now: Instant }>((k, p) =>
      k(name).where({ project_id: p.projectId, id: p.id }).update({ accessed_at: p.now }),
    ),
    lockAndTouch: sql.prepare<{ projectId: string; id: string; now: Instant }>((k, p) => {
      const touched = k(name).where({ project_id: p.projectId, id: p.id }).update({ accessed_at: p.now });
      return touched.returning(userTable.select(sql));
    }),
    someHashes: prepareSomeHashes(sql),
    update: (projectId: string, id: string, change: UserChange): Query =>
      compile(own(projectId, id).update(userTable.encodeSome(change))),
    remove: (projectId: string, id: string): Query => compile(own(projectId, id).delete()),
    ofProject: (projectId: string) => knex(name).where({ project_id: projectId }),
    ...bind(sql, { lockByContact, insert, otherWith }),
  };
}

/**
 * Password hashes of about 128 to 256 users with an address (all of them in smaller projects): every n-th in the order of the addresses, so
 * that users of every origin are represented. Reads only the index of the addresses in full.
 */
function prepareSomeHashes(sql: Sql) {
  return sql.prepare<{ projectId: string }>((k, p) => {
    const addressed = () => k(name).where({ project_id: p.projectId }).whereNotNull('email');
    const numbered = addressed().select('email', k.raw('row_number() over (order by email) as place')).as('numbered');
    const step = addressed().select(k.raw('1 + count(*) / 256'));
    const chosen = k(numbered).whereRaw('place % (?) = 0', [step]).select('email');
    const rows = k(name).where({ project_id: p.projectId }).whereIn('email', chosen).whereNotNull('password_hash');
    return rows.select('id', 'password_hash');
  });
}

/** `lockById` by email address or phone number. */
function lockByContact(sql: Sql, projectId: string, contact: Contact, value: string): Query {
  const rows = sql.knex(name).where({ project_id: projectId, [contact]: value });
  return sql.compile(rows.forUpdate().select(userTable.select(sql)));
}

/** Returns no row if the id, the address or the number is taken. */
function insert({ knex, compile }: Sql, projectId: string, account: UserRecord): Query {
  const rows = knex(name).insert(userTable.encode({ ...account, projectId }));
  return compile(rows.onConflict().ignore().returning('id'));
}

/** Returns a row if another user has the address or the phone number. */
function otherWith({ knex, compile }: Sql, contact: Contact, projectId: string, id: string, value: string): Query {
  const rows = knex(name).where({ project_id: projectId, [contact]: value });
  return compile(rows.whereNot({ id }).select('id'));
}

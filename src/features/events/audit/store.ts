import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bigint, instant, nullable, table, text } from '#src/platform/db/table.js';
import type { SealedColumn } from '#src/platform/sealing.js';
import { auditEntries, auditSubjects } from '../outbox/index.js';
import type { SignedHead, SignedSegment } from './chain/statement.js';

/** Keys that sign the heads of the chain. */
export const auditKeys = table('audit_keys', {
  id: text,
  publicKey: text,
  dataKey: text,
  secret: text,
  createdAt: instant,
});

/** The signed head of the chain: one row, which is there from the start. */
export const auditHeads = table('audit_heads', {
  name: text,
  seq: bigint,
  hash: text,
  at: nullable(instant),
  keyId: nullable(text),
  signature: nullable(text),
});

/** Statements about entries that may have been removed. */
export const auditSegments = table('audit_segments', {
  lastSeq: bigint,
  firstSeq: bigint,
  previousHash: text,
  hash: text,
  at: instant,
  keyId: text,
  signature: text,
});

/** Where the keys are sealed; never in the form of the first version. */
export const sealedAuditKeys: SealedColumn = {
  table: auditKeys.name,
  column: 'secret',
  key: 'id',
  order: ['id'],
  before: (id) => `audit_keys|secret|${id}`,
};

/** A key as stored. */
export type AuditKeyRow = ReturnType<typeof auditKeys.decode>;

/** An entry as stored. */
export type AuditRow = ReturnType<typeof auditEntries.decode>;

/** What the sealer gives an entry. */
export type Seal = readonly [id: string, seq: number, previousHash: string, hash: string];

/** Which entries are listed. */
export interface EntryFilter {
  /** All projects, and what belongs to none, where absent. */
  readonly projectId?: string | undefined;
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly resource?: string | undefined;
  readonly since?: Instant | undefined;
  readonly until?: Instant | undefined;
}

const headName = 'current';

/** SQL over the chain of the audit log. */
export function createAuditStore(sql: Sql) {
  const { knex } = sql;
  const given = sql.dialect === 'sqlite' ? 'json_each(?) as given' : 'json_array_elements(?::json) as given';
  const entries = () => knex(auditEntries.name);
  const head = () => knex(auditHeads.name).where({ name: headName }).select(auditHeads.select(sql));
  const oldestWaiting = () => entries().whereNull('seq').orderBy('id');
  return {
    head: (): Query => sql.compile(head()),
    /** The head, held until the end of the unit; no row where another process holds it. */
    lockHead: (): Query => sql.compile(sql.dialect === 'sqlite' ? head() : head().forUpdate().skipLocked()),
    moveHead: (from: number, { seq, hash, at, keyId, signature }: SignedHead): Query =>
      sql.compile(
        knex(auditHeads.name)
          .where({ name: headName, seq: from })
          .update(auditHeads.encodeSome({ seq, hash, at, keyId, signature })),
      ),
    keys: (): Query => sql.compile(knex(auditKeys.name).orderBy(['created_at', 'id']).select(auditKeys.select(sql))),
    insertKey: (key: AuditKeyRow): Query => sql.compile(knex(auditKeys.name).insert(auditKeys.encode(key))),
    /** Entries that are not sealed yet, in the order of their ids. */
    waiting: (limit: number, after = ''): Query =>
      sql.compile(oldestWaiting().where('id', '>', after).limit(limit).select(auditEntries.select(sql))),
    oldestWaiting: (): Query => sql.compile(oldestWaiting().limit(1).select('id', 'at')),
    countWaiting: (limit: number): Query =>
      sql.compile(knex(oldestWaiting().limit(limit).select('id').as('waiting')).count({ total: '*' })),
    seal: (seals: readonly Seal[]): Query =>
      sql.text(
        `update audit_entries set seq = cast(given.value ->> 1 as bigint), previous_hash = given.value ->> 2,
          hash = given.value ->> 3
        from ${given} where audit_entries.id = given.value ->> 0 and audit_entries.seq is null`,
        [JSON.stringify(seals)],
      ),
    /** Sealed entries after a number, in order. */
    sealed: (after: number, limit: number): Query =>
      sql.compile(entries().where('seq', '>', after).orderBy('seq').limit(limit).select(auditEntries.select(sql))),
    /**
     * The first entry with a value of another type than the log writes, which SQLite lets anybody store: such a row may be impossible to read as
     * JSON. Postgres has no such rows.
     */
    mistyped: (): Query | undefined => {
      if (sql.dialect !== 'sqlite') return undefined;
      const texts = Object.values(auditEntries.columns).filter((column) => column !== auditEntries.columns.seq);
      const isOther = (column: string) => `typeof(${column}) not in ('text', 'null')`;
      return sql.text(
        `select id, case when typeof(seq) = 'integer' then seq end as seq from audit_entries
        where typeof(seq) not in ('integer', 'null') or ${texts.map(isOther).join(' or ')} or id in
          (select entry_id from audit_subjects where ${Object.values(auditSubjects.columns).map(isOther).join(' or ')})
        order by seq limit 1`,
        [],
      );
    },
    /** Sealed entries from one on, in order. The id tells entries of one number apart, which only a table without its unique index lets them have. */
    sealedFrom: ({ seq, id }: { readonly seq: number; readonly id: string }, limit: number): Query =>
      sql.compile(
        entries()
          .where('seq', '>=', seq)
          .whereNot((same) => same.where({ seq }).andWhere('id', '<=', id))
          .orderBy(['seq', 'id'])
          .limit(limit)
          .select(auditEntries.select(sql)),
      ),
    /** An entry whose number no seal has given. */
    beforeFirst: (): Query => sql.compile(entries().where('seq', '<', 1).orderBy('seq').limit(1).select('seq')),
    subjects: (entryIds: readonly string[]): Query =>
      sql.compile(
        knex(auditSubjects.name)
          .where(sql.isOneOf('entry_id', sql.list(entryIds)))
          .orderBy(['entry_id', 'field'])
          .select(auditSubjects.select(sql)),
      ),
    segments: (): Query => sql.compile(knex(auditSegments.name).orderBy('last_seq').select(auditSegments.select(sql))),
    insertSegment: (segment: SignedSegment): Query =>
      sql.compile(knex(auditSegments.name).insert(auditSegments.encode(segment))),
    /** The first sealed entry that is not older than a time. */
    firstSince: (since: Instant): Query =>
      sql.compile(entries().whereNotNull('seq').where('at', '>=', since).orderBy('seq').limit(1).select('seq')),
    /** Some personal values, then some entries, up to a number. */
    pruneSubjects: (upTo: number, limit: number): Query =>
      sql.text(
        `delete from audit_subjects where entry_id in
          (select id from audit_entries where seq <= ? order by seq limit ?)`,
        [upTo, limit],
      ),
    pruneEntries: (upTo: number, limit: number): Query =>
      sql.text(
        'delete from audit_entries where id in (select id from audit_entries where seq <= ? order by seq limit ?)',
        [upTo, limit],
      ),
    hasProject: (projectId: string): Query =>
      sql.compile(entries().where({ project_id: projectId }).whereNotNull('seq').limit(1).select('id')),
    /** Sealed entries before a number, newest first: those that match among so many. */
    list: ({ projectId, ...filter }: EntryFilter, before: number, scanned: number, limit: number): Query => {
      const window = entries().where('seq', '<', before).whereNotNull('seq').orderBy('seq', 'desc').limit(scanned);
      if (projectId !== undefined) window.where({ project_id: projectId });
      const found = knex(window.select('*').as(auditEntries.name)).orderBy('seq', 'desc').limit(limit);
      if (filter.actor !== undefined) found.where({ actor_id: filter.actor });
      if (filter.action !== undefined) found.where({ action: filter.action });
      if (filter.resource !== undefined) found.where({ resource: filter.resource });
      if (filter.since !== undefined) found.where('at', '>=', filter.since);
      if (filter.until !== undefined) found.where('at', '<', filter.until);
      return sql.compile(found.select(auditEntries.select(sql)));
    },
    /** The number of the last entry of such a window; no row where it is not full. */
    windowEnd: (projectId: string | undefined, before: number, scanned: number): Query => {
      const window = entries().where('seq', '<', before).whereNotNull('seq').orderBy('seq', 'desc');
      if (projectId !== undefined) window.where({ project_id: projectId });
      return sql.compile(
        window
          .offset(scanned - 1)
          .limit(1)
          .select('seq'),
      );
    },
  };
}

/** The store of the chain. */
export type AuditStore = ReturnType<typeof createAuditStore>;

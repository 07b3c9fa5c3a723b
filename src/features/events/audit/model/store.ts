import type { Instant } from '#src/contract/shapes.js';
import type { SealedColumn } from '#src/platform/crypto/sealing.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bigint, instant, nullable, table, text } from '#src/platform/db/table.js';
import { oneOf, raw, type SqlPart, skipLocked } from '#src/platform/db/template.js';
import { bind } from '#src/platform/runtime/bind.js';
import { auditEntries, auditSubjects } from '../../outbox/index.js';
import type { SignedHead, SignedSegment } from '../chain/statement.js';

/** Keys that sign heads and segments of the chain. */
export const auditKeys = table('audit_keys', {
  id: text,
  publicKey: text,
  dataKey: text,
  secret: text,
  createdAt: instant,
});

/** The signed head of the chain: a single row that always exists. */
export const auditHeads = table('audit_heads', {
  name: text,
  seq: bigint,
  hash: text,
  at: nullable(instant),
  keyId: nullable(text),
  signature: nullable(text),
});

/** Signed segments of entries that may have been removed. */
export const auditSegments = table('audit_segments', {
  lastSeq: bigint,
  firstSeq: bigint,
  previousHash: text,
  hash: text,
  at: instant,
  keyId: text,
  signature: text,
});

/** The column with the sealed keys. It never has values of the first version. */
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

/** Values that the sealer sets in an entry. */
export type Seal = readonly [id: string, seq: number, previousHash: string, hash: string];

/** Filter of a list of entries. */
export interface EntryFilter {
  /** Undefined for all projects, including entries without a project. */
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
  return {
    ...chainStatements(sql),
    ...entryStatements(sql),
    ...bind(sql, { seal, mistyped, list }),
  };
}

/** The store of the chain. */
export type AuditStore = ReturnType<typeof createAuditStore>;

function chainStatements(sql: Sql) {
  return {
    head: () => sql`select ${auditHeads.row} from audit_heads where name = ${headName}`,
    /** Locks the head until the end of the unit. Returns no row if another process has locked it. */
    lockHead: () => sql`select ${auditHeads.row} from audit_heads where name = ${headName}${skipLocked}`,
    moveHead: (from: number, { seq, hash, at, keyId, signature }: SignedHead) => sql`
      update audit_heads set ${auditHeads.set({ seq, hash, at, keyId, signature })}
      where name = ${headName} and seq = ${from}`,
    keys: () => sql`select ${auditKeys.row} from audit_keys order by created_at, id`,
    insertKey: (key: AuditKeyRow) => sql`${auditKeys.insert(key)}`,
    segments: () => sql`select ${auditSegments.row} from audit_segments order by last_seq`,
    insertSegment: (segment: SignedSegment) => sql`${auditSegments.insert(segment)}`,
  };
}

function entryStatements(sql: Sql) {
  return {
    /** Unsealed entries in the order of their ids. */
    waiting: (limit: number, after = '') =>
      sql`select ${auditEntries.row} from audit_entries where seq is null and id > ${after} order by id limit ${limit}`,
    oldestWaiting: () => sql`select id, at from audit_entries where seq is null order by id limit 1`,
    countWaiting: (limit: number) => sql`
      select count(*) as total from (select id from audit_entries where seq is null order by id limit ${limit}) as waiting`,
    /** Sealed entries after a number, in order. */
    sealed: (after: number, limit: number) =>
      sql`select ${auditEntries.row} from audit_entries where seq > ${after} order by seq limit ${limit}`,
    /**
     * Sealed entries from a number on, in order. The id separates entries with the same number, which exist only if the unique index was
     * removed.
     */
    sealedFrom: ({ seq, id }: { readonly seq: number; readonly id: string }, limit: number) => sql`
      select ${auditEntries.row} from audit_entries where seq >= ${seq} and not (seq = ${seq} and id <= ${id})
      order by seq, id limit ${limit}`,
    /** An entry with a number that no seal can assign. */
    beforeFirst: () => sql`select seq from audit_entries where seq < 1 order by seq limit 1`,
    subjects: (entryIds: readonly string[]) => sql`
      select ${auditSubjects.row} from audit_subjects where entry_id ${oneOf(entryIds)} order by entry_id, field`,
    /** The first sealed entry that is not older than a time. */
    firstSince: (since: Instant) =>
      sql`select seq from audit_entries where seq is not null and at >= ${since} order by seq limit 1`,
    /** Deletes personal values of the first entries up to a number. `pruneEntries` then deletes those entries. */
    pruneSubjects: (upTo: number, limit: number) => sql`
      delete from audit_subjects where entry_id in
        (select id from audit_entries where seq <= ${upTo} order by seq limit ${limit})`,
    pruneEntries: (upTo: number, limit: number) => sql`
      delete from audit_entries where id in
        (select id from audit_entries where seq <= ${upTo} order by seq limit ${limit})`,
    hasProject: (projectId: string) =>
      sql`select id from audit_entries where project_id = ${projectId} and seq is not null limit 1`,
    /** The number of the last entry that `list` scans; no row if there are fewer entries. */
    windowEnd: (projectId: string | undefined, before: number, scanned: number) =>
      sql`select seq ${newestBefore(sql, projectId, before)} limit 1 offset ${scanned - 1}`,
  };
}

function seal(sql: Sql, seals: readonly Seal[]): Query {
  const given = raw(sql.words.eachInJson('given'), [JSON.stringify(seals)]);
  return sql`
    update audit_entries set seq = cast(given.value ->> 1 as bigint), previous_hash = given.value ->> 2,
      hash = given.value ->> 3
    from ${given} where audit_entries.id = given.value ->> 0 and audit_entries.seq is null`;
}

/**
 * The first entry with a value of an unexpected type. SQLite stores any type in any column, and reading such a row as JSON may fail.
 * Undefined for Postgres, which has no such rows.
 */
function mistyped(sql: Sql): Query | undefined {
  if (sql.dialect !== 'sqlite') return undefined;
  const texts = Object.values(auditEntries.columns).filter((column) => column !== auditEntries.columns.seq);
  const areOther = (columns: readonly string[]) =>
    raw(columns.map((column) => `typeof(${column}) not in ('text', 'null')`).join(' or '));
  return sql`
    select id, case when typeof(seq) = 'integer' then seq end as seq from audit_entries
    where typeof(seq) not in ('integer', 'null') or ${areOther(texts)} or id in
      (select entry_id from audit_subjects where ${areOther(Object.values(auditSubjects.columns))})
    order by seq limit 1`;
}

/** Matching entries among the `scanned` newest sealed ones before a number, newest first. */
function list(sql: Sql, filter: EntryFilter, before: number, scanned: number, limit: number): Query {
  const { projectId, actor, action, resource, since, until } = filter;
  return sql`
    select ${auditEntries.row} from (select * ${newestBefore(sql, projectId, before)} limit ${scanned}) as audit_entries
    where true
      ${actor !== undefined && sql`and actor_id = ${actor}`}
      ${action !== undefined && sql`and action = ${action}`}
      ${resource !== undefined && sql`and resource = ${resource}`}
      ${since !== undefined && sql`and at >= ${since}`}
      ${until !== undefined && sql`and at < ${until}`}
    order by seq desc limit ${limit}`;
}

function newestBefore(sql: Sql, projectId: string | undefined, before: number): SqlPart {
  return sql`
    from audit_entries where seq < ${before} and seq is not null
    ${projectId !== undefined && sql`and project_id = ${projectId}`} order by seq desc`;
}

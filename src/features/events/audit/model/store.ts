import type { Instant } from '#src/contract/shapes.js';
import type { SealedColumn } from '#src/platform/crypto/sealing.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bigint, instant, nullable, table, text } from '#src/platform/db/table.js';
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
    ...bind(sql, { head, lockHead, moveHead, keys, insertKey, segments, insertSegment }),
    ...bind(sql, { waiting, oldestWaiting, countWaiting, seal, sealed, sealedFrom, mistyped, beforeFirst, subjects }),
    ...bind(sql, { firstSince, pruneSubjects, pruneEntries, hasProject, list, windowEnd }),
  };
}

/** The store of the chain. */
export type AuditStore = ReturnType<typeof createAuditStore>;

const entries = ({ knex }: Sql) => knex(auditEntries.name);
const unsealed = (sql: Sql) => entries(sql).whereNull('seq').orderBy('id');

function head(sql: Sql): Query {
  return sql.compile(sql.knex(auditHeads.name).where({ name: headName }).select(auditHeads.select(sql)));
}

/** Locks the head until the end of the unit. Returns no row if another process has locked it. */
function lockHead(sql: Sql): Query {
  const found = `select ? from ${auditHeads.name} where name = ?${sql.words.skipLocked}`;
  return sql.compile(sql.knex.raw(found, [auditHeads.select(sql), headName]));
}

function moveHead(sql: Sql, from: number, { seq, hash, at, keyId, signature }: SignedHead): Query {
  return sql.compile(
    sql
      .knex(auditHeads.name)
      .where({ name: headName, seq: from })
      .update(auditHeads.encodeSome({ seq, hash, at, keyId, signature })),
  );
}

function keys(sql: Sql): Query {
  return sql.compile(sql.knex(auditKeys.name).orderBy(['created_at', 'id']).select(auditKeys.select(sql)));
}

function insertKey(sql: Sql, key: AuditKeyRow): Query {
  return sql.compile(sql.knex(auditKeys.name).insert(auditKeys.encode(key)));
}

function segments(sql: Sql): Query {
  return sql.compile(sql.knex(auditSegments.name).orderBy('last_seq').select(auditSegments.select(sql)));
}

function insertSegment(sql: Sql, segment: SignedSegment): Query {
  return sql.compile(sql.knex(auditSegments.name).insert(auditSegments.encode(segment)));
}

/** Unsealed entries in the order of their ids. */
function waiting(sql: Sql, limit: number, after = ''): Query {
  return sql.compile(unsealed(sql).where('id', '>', after).limit(limit).select(auditEntries.select(sql)));
}

function oldestWaiting(sql: Sql): Query {
  return sql.compile(unsealed(sql).limit(1).select('id', 'at'));
}

function countWaiting(sql: Sql, limit: number): Query {
  return sql.compile(sql.knex(unsealed(sql).limit(limit).select('id').as('waiting')).count({ total: '*' }));
}

function seal(sql: Sql, seals: readonly Seal[]): Query {
  return sql.text(
    `update audit_entries set seq = cast(given.value ->> 1 as bigint), previous_hash = given.value ->> 2,
          hash = given.value ->> 3
        from ${sql.words.eachInJson('given')} where audit_entries.id = given.value ->> 0 and audit_entries.seq is null`,
    [JSON.stringify(seals)],
  );
}

/** Sealed entries after a number, in order. */
function sealed(sql: Sql, after: number, limit: number): Query {
  const found = entries(sql).where('seq', '>', after).orderBy('seq').limit(limit);
  return sql.compile(found.select(auditEntries.select(sql)));
}

/**
 * Sealed entries from a number on, in order. The id separates entries with the same number, which exist only if the unique index was
 * removed.
 */
function sealedFrom(sql: Sql, { seq, id }: { readonly seq: number; readonly id: string }, limit: number): Query {
  return sql.compile(
    entries(sql)
      .where('seq', '>=', seq)
      .whereNot((same) => same.where({ seq }).andWhere('id', '<=', id))
      .orderBy(['seq', 'id'])
      .limit(limit)
      .select(auditEntries.select(sql)),
  );
}

/**
 * The first entry with a value of an unexpected type. SQLite stores any type in any column, and reading such a row as JSON may fail.
 * Undefined for Postgres, which has no such rows.
 */
function mistyped(sql: Sql): Query | undefined {
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
}

/** An entry with a number that no seal can assign. */
function beforeFirst(sql: Sql): Query {
  return sql.compile(entries(sql).where('seq', '<', 1).orderBy('seq').limit(1).select('seq'));
}

function subjects(sql: Sql, entryIds: readonly string[]): Query {
  return sql.compile(
    sql
      .knex(auditSubjects.name)
      .where(sql.isOneOf('entry_id', sql.list(entryIds)))
      .orderBy(['entry_id', 'field'])
      .select(auditSubjects.select(sql)),
  );
}

/** The first sealed entry that is not older than a time. */
function firstSince(sql: Sql, since: Instant): Query {
  return sql.compile(entries(sql).whereNotNull('seq').where('at', '>=', since).orderBy('seq').limit(1).select('seq'));
}

/** Deletes personal values of the first entries up to a number. `pruneEntries` then deletes those entries. */
function pruneSubjects(sql: Sql, upTo: number, limit: number): Query {
  return sql.text(
    `delete from audit_subjects where entry_id in
          (select id from audit_entries where seq <= ? order by seq limit ?)`,
    [upTo, limit],
  );
}

function pruneEntries(sql: Sql, upTo: number, limit: number): Query {
  return sql.text(
    'delete from audit_entries where id in (select id from audit_entries where seq <= ? order by seq limit ?)',
    [upTo, limit],
  );
}

function hasProject(sql: Sql, projectId: string): Query {
  return sql.compile(entries(sql).where({ project_id: projectId }).whereNotNull('seq').limit(1).select('id'));
}

/** Matching entries among the `scanned` newest sealed ones before a number, newest first. */
function list(sql: Sql, filter: EntryFilter, before: number, scanned: number, limit: number): Query {
  const { projectId, actor, action, resource, since, until } = filter;
  const window = newestBefore(sql, projectId, before).limit(scanned);
  const found = sql.knex(window.select('*').as(auditEntries.name)).orderBy('seq', 'desc').limit(limit);
  if (actor !== undefined) found.where({ actor_id: actor });
  if (action !== undefined) found.where({ action });
  if (resource !== undefined) found.where({ resource });
  if (since !== undefined) found.where('at', '>=', since);
  if (until !== undefined) found.where('at', '<', until);
  return sql.compile(found.select(auditEntries.select(sql)));
}

/** The number of the last entry of that window; no row if there are fewer entries. */
function windowEnd(sql: Sql, projectId: string | undefined, before: number, scanned: number): Query {
  const last = newestBefore(sql, projectId, before).offset(scanned - 1);
  return sql.compile(last.limit(1).select('seq'));
}

function newestBefore(sql: Sql, projectId: string | undefined, before: number) {
  const window = entries(sql).where('seq', '<', before).whereNotNull('seq').orderBy('seq', 'desc');
  return projectId === undefined ? window : window.where({ project_id: projectId });
}

import { courierLimits, messageDelays } from '#src/contract/limits.js';
import type { Instant } from '#src/contract/shapes.js';
import { maxJittered } from '#src/platform/crypto/random.js';
import type { SealedColumn } from '#src/platform/crypto/sealing.js';
import {
  createLeaseClaim,
  endLease,
  free,
  isFree,
  isLeased,
  leaseColumns,
  revoked,
} from '#src/platform/db/leased-rows.js';
import type { AppendedTable } from '#src/platform/db/outbox.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { instant, integer, nullable, table, text } from '#src/platform/db/table.js';
import type { Unit } from '#src/platform/db/unit.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf, latestPast, millisecondsOf } from '#src/platform/runtime/clock.js';
import type { Channel } from './messages.js';

/** State of a message. `kept`: no server is configured for its channel, so operators read it here. */
export type MessageState = 'pending' | 'sending' | 'retrying' | 'sent' | 'failed' | 'expired' | 'kept';

/** Messages to people. Recipient and content are sealed; the content is wiped once a message has ended. */
export const messageTable = table('messages', {
  id: text,
  projectId: text,
  userId: nullable(text),
  template: text,
  channel: text,
  locale: text,
  recipient: text,
  sealed: text,
  state: text,
  attempt: integer,
  dueAt: nullable(instant),
  ...leaseColumns,
  expire: nullable(instant),
  error: text,
  sentAt: nullable(instant),
  createdAt: instant,
});

const sealedColumn = (column: string): SealedColumn => ({
  table: messageTable.name,
  column,
  key: 'id',
  order: ['id'],
  before: () => `messages|${column}`,
});

/** Columns with sealed recipients and contents. */
export const sealedMessages = { recipient: sealedColumn('recipient'), sealed: sealedColumn('sealed') } as const;

/** A row of the table. */
export type MessageRow = ReturnType<typeof messageTable.decode>;

/** A new message: to be sent, or kept if no server is configured for its channel. */
interface NewMessage
  extends Pick<MessageRow, 'id' | 'projectId' | 'userId' | 'template' | 'locale' | 'recipient' | 'sealed' | 'expire'> {
  readonly channel: Channel;
  readonly state: 'pending' | 'kept';
}

const appendedMessages: AppendedTable = {
  table: messageTable.name,
  columns: [
    'id',
    'project_id',
    'user_id',
    'template',
    'channel',
    'locale',
    'recipient',
    'sealed',
    'state',
    'due_at',
    'expire',
    'created_at',
  ],
};

/** Columns that an attempt changes. */
type Settled = Pick<MessageRow, 'state' | 'dueAt' | 'error' | 'sentAt'>;

/** Contains a row for each channel that currently refuses messages. */
const outages = 'message_outages';

/** SQL over messages. */
export function createMessageStore(sql: Sql) {
  return {
    append,
    /** Channels with due messages. */
    waiting: sql.prepare<{ now: Instant }>((k, p) =>
      k.raw(`select distinct channel from messages where due_at <= :now and ${isFree(':now')}`, {
        now: p.now,
      }),
    ),
    claim: createLeaseClaim(sql, messageTable, {
      scope: ['channel'],
      claimed: "state = 'sending', attempt = attempt + 1",
    }),
    /** Ends an attempt and wipes the content after the last one. Changes no row if another process has claimed the message since. */
    settle: ({ id, fence }: Pick<MessageRow, 'id' | 'fence'>, change: Settled): Query =>
      endLease(
        sql,
        messageTable,
        { id, fence, state: 'sending' },
        change.dueAt === null ? { ...change, sealed: '' } : change,
      ),
    ...bind(sql, { expire, beginOutage, endOutage, list, find, backlog, mailsSince, bringForward }),
    ...bind(sql, { removeOfUser, remove, ownerless, prune }),
  };
}

/** SQL over messages. */
export type MessageStore = ReturnType<typeof createMessageStore>;

/** Inserts a message with the commit of the unit. It is due at once unless it is kept. */
function append(unit: Unit, message: NewMessage): void {
  const { id, projectId, userId, template, channel, locale, recipient, sealed, state, expire } = message;
  const dueAt = state === 'pending' ? unit.now : null;
  unit.append(appendedMessages, [
    id,
    projectId,
    userId,
    template,
    channel,
    locale,
    recipient,
    sealed,
    state,
    dueAt,
    expire,
    unit.now,
  ]);
}

/** Expires messages that would arrive too late, including those whose lease ended while a process was sending them. */
function expire(sql: Sql, channel: Channel, now: Instant): Query {
  const { compile, knex } = sql;
  return compile(
    knex(messageTable.name)
      .where({ channel })
      .andWhere('due_at', '<=', now)
      .andWhere(knex.raw(isFree('?'), [now]))
      .andWhere('expire', '<=', now)
      .update({ ...revoked(sql), state: 'expired', due_at: null, sealed: '' }),
  );
}

/** Changes no row if any process has already recorded the outage. */
function beginOutage({ compile, knex }: Sql, channel: Channel): Query {
  return compile(knex(outages).insert({ channel }).onConflict('channel').ignore());
}

/** Changes no row if there was no outage. */
function endOutage({ compile, knex }: Sql, channel: Channel): Query {
  return compile(knex(outages).where({ channel }).delete());
}

/** Messages, newest first. */
function list(sql: Sql, { projectId }: { readonly projectId: string | null }, limit: number): Query {
  const found = sql.knex(messageTable.name).orderBy([
    { column: 'created_at', order: 'desc' },
    { column: 'id', order: 'desc' },
  ]);
  if (projectId !== null) found.where({ project_id: projectId });
  return sql.compile(found.limit(limit).select(messageTable.select(sql)));
}

function find(sql: Sql, id: string): Query {
  return sql.compile(sql.knex(messageTable.name).where({ id }).select(messageTable.select(sql)));
}

/** Number and oldest creation time of queued messages, per channel. */
function backlog(sql: Sql): Query {
  return sql.text(
    'select channel, count(*) as waiting, min(created_at) as oldest from messages where due_at is not null group by channel',
    [],
  );
}

/** State and error of sent and failed mails among the newest `limit` messages since a time, newest first. */
function mailsSince({ compile, knex }: Sql, since: Instant, limit: number): Query {
  const newest = knex(messageTable.name)
    .where('created_at', '>=', since)
    .orderBy('created_at', 'desc')
    .limit(limit)
    .select('channel', 'state', 'error', 'created_at');
  return compile(
    knex(newest.as('newest'))
      .where({ channel: 'email' })
      .whereIn('state', ['sent', 'failed'])
      .orderBy('created_at', 'desc')
      .select('state', 'error'),
  );
}

/**
 * Makes messages due now if their due time or lease is further ahead than possible: it was set before the clock was set back. A message
 * waits for its first attempt, the end of a lease, or a retry.
 */
function bringForward({ compile, knex }: Sql, now: Instant): Query {
  const latest = (ms: number) => instantOf(latestPast(millisecondsOf(now)) + ms);
  const late = knex(messageTable.name).where((either) => {
    either
      .where((row) => row.where({ state: 'pending' }).andWhere('due_at', '>', latest(0)))
      .orWhere(knex.raw(isLeased('?'), [latest(courierLimits.leaseMs)]));
    messageDelays.forEach((seconds, at) => {
      const due = latest(maxJittered(seconds * 1000));
      either.orWhere((row) => row.where({ state: 'retrying', attempt: at + 1 }).andWhere('due_at', '>', due));
    });
  });
  return compile(late.whereNotNull('due_at').update({ ...free, due_at: now }));
}

function removeOfUser({ compile, knex }: Sql, projectId: string, userId: string): Query {
  return compile(knex(messageTable.name).where({ project_id: projectId, user_id: userId }).delete());
}

function remove(sql: Sql, ids: readonly string[]): Query {
  const isChosen = sql.isOneOf('id', sql.list(ids));
  return sql.compile(sql.knex(messageTable.name).where(isChosen).delete());
}

/** Messages of a project without a user, after an id, in order of their ids. */
function ownerless(sql: Sql, projectId: string, after: string, limit: number): Query {
  return sql.compile(
    sql
      .knex(messageTable.name)
      .where({ project_id: projectId })
      .whereNull('user_id')
      .where('id', '>', after)
      .orderBy('id')
      .limit(limit)
      .select(messageTable.select(sql)),
  );
}

/** Deletes messages that have ended and are older than a time. */
function prune({ compile, knex }: Sql, before: Instant, limit: number): Query {
  const old = knex(messageTable.name)
    .where('created_at', '<', before)
    .whereNull('due_at')
    .orderBy('created_at')
    .limit(limit)
    .select('id');
  return compile(knex(messageTable.name).whereIn('id', old).delete());
}

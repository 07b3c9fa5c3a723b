import { courierLimits, messageDelays } from '#src/contract/limits.js';
import type { Instant } from '#src/contract/shapes.js';
import { maxJittered } from '#src/platform/crypto/random.js';
import type { SealedColumn } from '#src/platform/crypto/sealing.js';
import {
  endLease,
  freed,
  isFree,
  isLeased,
  leaseColumns,
  leased,
  type RowLease,
  revoked,
} from '#src/platform/db/leased-rows.js';
import { createAppend } from '#src/platform/db/outbox.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { instant, integer, nullable, table, text } from '#src/platform/db/table.js';
import { joined, oneOf, skipLocked } from '#src/platform/db/template.js';
import type { Unit } from '#src/platform/db/unit.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf, latestPast, millisecondsOf } from '#src/platform/runtime/clock.js';
import type { Channel } from './messages.js';

/** State of a message. `kept`: no server is configured for its channel, so operators read it here. */
type MessageState = 'pending' | 'sending' | 'retrying' | 'sent' | 'failed' | 'expired' | 'kept';

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

const appendMessage = createAppend(messageTable);
const notBegun = { attempt: 0, owner: null, leaseUntil: null, fence: 0, error: '', sentAt: null } as const;

/** Columns that an attempt changes. */
export interface Settled extends Pick<MessageRow, 'dueAt' | 'error' | 'sentAt'> {
  readonly state: MessageState;
}

/** SQL over messages. */
export function createMessageStore(sql: Sql) {
  return {
    /** Inserts a message with the commit of the unit. It is due at once unless it is kept. */
    append: (unit: Unit, message: NewMessage): void => {
      const dueAt = message.state === 'pending' ? unit.now : null;
      appendMessage(unit, { ...message, ...notBegun, dueAt, createdAt: unit.now });
    },
    /** Channels with due messages. */
    waiting: ({ now }: { readonly now: Instant }) =>
      sql`select distinct channel from messages where due_at <= ${now} and ${isFree(now)}`,
    ...bind(sql, { claim, settle, expire, bringForward }),
    ...readStatements(sql),
    ...removalStatements(sql),
    ...outageStatements(sql),
  };
}

/** SQL over messages. */
export type MessageStore = ReturnType<typeof createMessageStore>;

/** Claims the messages of a channel that have been due longest. A claim does not change `due_at`, so that it updates no index. */
function claim(sql: Sql, channel: Channel, lease: RowLease, limit: number): Query {
  return sql`
    with due as materialized (
      select id from messages where channel = ${channel} and due_at <= ${lease.now} and ${isFree(lease.now)}
      order by due_at limit ${limit}${skipLocked})
    update messages set state = 'sending', attempt = attempt + 1, ${leased(lease)} where id in (select id from due)
    returning ${messageTable.row}`;
}

/** Ends an attempt and wipes the content after the last one. Changes no row if another process has claimed the message since. */
function settle(sql: Sql, { id, fence }: Pick<MessageRow, 'id' | 'fence'>, change: Settled): Query {
  const settled = change.dueAt === null ? { ...change, sealed: '' } : change;
  return endLease(sql, messageTable, { id, fence, state: 'sending' }, settled);
}

/** Expires messages that would arrive too late, including those whose lease ended while a process was sending them. */
function expire(sql: Sql, channel: Channel, now: Instant): Query {
  return sql`
    update messages set ${revoked}, state = 'expired', due_at = null, sealed = ''
    where channel = ${channel} and due_at <= ${now} and ${isFree(now)} and expire <= ${now}`;
}

/**
 * Makes messages due now if their due time or lease is further ahead than possible: it was set before the clock was set back. A message
 * waits for its first attempt, the end of a lease, or a retry.
 */
function bringForward(sql: Sql, now: Instant): Query {
  const latest = (ms: number) => instantOf(latestPast(millisecondsOf(now)) + ms);
  const isLate = [
    sql`(state = 'pending' and due_at > ${latest(0)})`,
    sql`${isLeased(latest(courierLimits.leaseMs))}`,
    ...messageDelays.map((seconds, at) => {
      const due = latest(maxJittered(seconds * 1000));
      return sql`(state = 'retrying' and attempt = ${at + 1} and due_at > ${due})`;
    }),
  ];
  return sql`
    update messages set ${freed}, due_at = ${now} where (${joined(isLate, ' or ')}) and due_at is not null`;
}

function readStatements(sql: Sql) {
  const { row: columns } = messageTable;
  return {
    /** Messages, newest first. */
    list: ({ projectId }: { readonly projectId: string | null }, limit: number) => sql`
      select ${columns} from messages ${projectId !== null && sql`where project_id = ${projectId}`}
      order by created_at desc, id desc limit ${limit}`,
    find: (id: string) => sql`select ${columns} from messages where id = ${id}`,
    /** Number and oldest creation time of queued messages, per channel. */
    backlog: () => sql`
      select channel, count(*) as waiting, min(created_at) as oldest from messages where due_at is not null
      group by channel`,
    /** State and error of sent and failed mails among the newest `limit` messages since a time, newest first. */
    mailsSince: (since: Instant, limit: number) => sql`
      select state, error from (
        select channel, state, error, created_at from messages where created_at >= ${since}
        order by created_at desc limit ${limit}) as newest
      where channel = 'email' and state in ('sent', 'failed') order by created_at desc`,
    /** Messages of a project without a user, after an id, in order of their ids. */
    ownerless: (projectId: string, after: string, limit: number) => sql`
      select ${columns} from messages where project_id = ${projectId} and user_id is null and id > ${after}
      order by id limit ${limit}`,
  };
}

function removalStatements(sql: Sql) {
  return {
    removeOfUser: (projectId: string, userId: string) =>
      sql`delete from messages where project_id = ${projectId} and user_id = ${userId}`,
    remove: (ids: readonly string[]) => sql`delete from messages where id ${oneOf(ids)}`,
    /** Deletes messages that have ended and are older than a time. */
    prune: (before: Instant, limit: number) => sql`
      delete from messages where id in (
        select id from messages where created_at < ${before} and due_at is null order by created_at limit ${limit})`,
  };
}

/** `message_outages` has a row for each channel that currently refuses messages. */
function outageStatements(sql: Sql) {
  return {
    /** Changes no row if any process has already recorded the outage. */
    beginOutage: (channel: Channel) =>
      sql`insert into message_outages (channel) values (${channel}) on conflict (channel) do nothing`,
    /** Changes no row if there was no outage. */
    endOutage: (channel: Channel) => sql`delete from message_outages where channel = ${channel}`,
  };
}

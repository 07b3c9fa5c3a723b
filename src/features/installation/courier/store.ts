import { courierLimits, messageDelays } from '#src/contract/limits.js';
import type { Instant } from '#src/contract/shapes.js';
import { instantOf, latestPast, millisecondsOf } from '#src/platform/clock.js';
import { createLeaseClaim, createLeaseEnd, free, isFree } from '#src/platform/db/leased-rows.js';
import type { AppendedTable } from '#src/platform/db/outbox.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { instant, integer, nullable, table, text } from '#src/platform/db/table.js';
import type { Unit } from '#src/platform/db/unit.js';
import { maxJittered } from '#src/platform/random.js';
import type { SealedColumn } from '#src/platform/sealing.js';
import type { Channel } from './messages.js';

/** What has become of a message. `kept`: there is no server to hand it to, so it can be read here. */
export type MessageState = 'pending' | 'sending' | 'retrying' | 'sent' | 'failed' | 'expired' | 'kept';

/** Messages to people; recipient and content are sealed, and the content is wiped when a message has ended. */
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
  leaseUntil: nullable(instant),
  expire: nullable(instant),
  owner: nullable(text),
  fence: integer,
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

/** Where recipients and contents are sealed. */
export const sealedMessages = { recipient: sealedColumn('recipient'), sealed: sealedColumn('sealed') } as const;

/** A row of the table. */
export type MessageRow = ReturnType<typeof messageTable.decode>;

/** A message that a unit of work leaves to be sent, or to be kept where there is no server to hand it to. */
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

/** What an attempt changes. */
type Settled = Pick<MessageRow, 'state' | 'dueAt' | 'error' | 'sentAt'>;

/** SQL over messages. */
export function createMessageStore(sql: Sql) {
  const { knex } = sql;
  const { name } = messageTable;
  /** Has a row for each channel that is known not to accept messages. */
  const outages = 'message_outages';
  const settle = createLeaseEnd(sql, messageTable, 'sending');
  const ended = { ...free, due_at: null, sealed: '' };
  return {
    /** Leaves a message in the commit of a unit; it is due at once unless it is kept. */
    append: ({ append, now }: Unit, message: NewMessage): void => {
      const { id, projectId, userId, template, channel, locale, recipient, sealed, state, expire } = message;
      const dueAt = state === 'pending' ? now : null;
      append(appendedMessages, [
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
        now,
      ]);
    },
    /** The channels for which something is due. */
    waiting: sql.prepare<{ now: Instant }>((k, p) =>
      k.raw(`select distinct channel from messages where due_at <= :now and ${isFree(':now')}`, {
        now: p.now,
      } as never),
    ),
    /** Gives up what would come too late, also what another process was sending when its lease ended. */
    expire: (channel: Channel, now: Instant): Query =>
      sql.compile(
        knex(name)
          .where({ channel })
          .andWhere('due_at', '<=', now)
          .andWhere(knex.raw(isFree('?'), [now]))
          .andWhere('expire', '<=', now)
          .update({ ...ended, state: 'expired', fence: knex.raw('fence + 1') }),
      ),
    claim: createLeaseClaim(sql, messageTable, {
      scope: ['channel'],
      claimed: "state = 'sending', attempt = attempt + 1",
    }),
    /** Ends an attempt, with the content wiped where it was the last; changes nothing where another process has claimed the message since. */
    settle: (row: Pick<MessageRow, 'id' | 'fence'>, change: Settled): Query =>
      settle(row, change.dueAt === null ? { ...change, sealed: '' } : change),

    /** Changes nothing where the outage is known already, to whatever process. */
    beginOutage: (channel: Channel): Query =>
      sql.compile(knex(outages).insert({ channel }).onConflict('channel').ignore()),
    /** Changes nothing where there was no outage. */
    endOutage: (channel: Channel): Query => sql.compile(knex(outages).where({ channel }).delete()),

    /** Messages, newest first. */
    list: ({ projectId }: { readonly projectId: string | null }, limit: number): Query => {
      const found = knex(name).orderBy([
        { column: 'created_at', order: 'desc' },
        { column: 'id', order: 'desc' },
      ]);
      if (projectId !== null) found.where({ project_id: projectId });
      return sql.compile(found.limit(limit).select(messageTable.select(sql)));
    },
    find: (id: string): Query => sql.compile(knex(name).where({ id }).select(messageTable.select(sql))),

    /** What waits, of each channel: how many, and since when. */
    backlog: (): Query =>
      sql.text(
        'select channel, count(*) as waiting, min(created_at) as oldest from messages where due_at is not null group by channel',
        [],
      ),
    /** How the newest mails since a time ended that were sent or have failed, newest first, among so many messages. */
    mailsSince: (since: Instant, limit: number): Query => {
      const newest = knex(name)
        .where('created_at', '>=', since)
        .orderBy('created_at', 'desc')
        .limit(limit)
        .select('channel', 'state', 'error', 'created_at');
      return sql.compile(
        knex(newest.as('newest'))
          .where({ channel: 'email' })
          .whereIn('state', ['sent', 'failed'])
          .orderBy('created_at', 'desc')
          .select('state', 'error'),
      );
    },
    /**
     * Makes due now what is due later than it can have been put off, or leased for longer than leases are: it was before the clock was set
     * back. A message waits for its first attempt, for the end of a lease or for the next attempt.
     */
    bringForward: (now: Instant): Query => {
      const latest = (ms: number) => instantOf(latestPast(millisecondsOf(now)) + ms);
      const late = knex(name).where((either) => {
        either
          .where((row) => row.where({ state: 'pending' }).andWhere('due_at', '>', latest(0)))
          .orWhere('lease_until', '>', latest(courierLimits.leaseMs));
        messageDelays.forEach((seconds, at) => {
          const due = latest(maxJittered(seconds * 1000));
          either.orWhere((row) => row.where({ state: 'retrying', attempt: at + 1 }).andWhere('due_at', '>', due));
        });
      });
      return sql.compile(late.whereNotNull('due_at').update({ ...free, due_at: now }));
    },
    removeOfUser: (projectId: string, userId: string): Query =>
      sql.compile(knex(name).where({ project_id: projectId, user_id: userId }).delete()),
    remove: (ids: readonly string[]): Query =>
      sql.compile(
        knex(name)
          .where(sql.isOneOf('id', sql.list(ids)))
          .delete(),
      ),
    /** Some messages of a project to nobody who is known as a user, after one, in the order of their ids. */
    ownerless: (projectId: string, after: string, limit: number): Query =>
      sql.compile(
        knex(name)
          .where({ project_id: projectId })
          .whereNull('user_id')
          .where('id', '>', after)
          .orderBy('id')
          .limit(limit)
          .select(messageTable.select(sql)),
      ),
    /** Removes some of what is older than a time and has ended. */
    prune: (before: Instant, limit: number): Query =>
      sql.compile(
        knex(name)
          .whereIn(
            'id',
            knex(name)
              .where('created_at', '<', before)
              .whereNull('due_at')
              .orderBy('created_at')
              .limit(limit)
              .select('id'),
          )
          .delete(),
      ),
  };
}

/** The store of messages. */
export type MessageStore = ReturnType<typeof createMessageStore>;

import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { integer, nullable, table, text } from '#src/platform/db/table.js';
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
  dueAt: nullable(text),
  expire: nullable(text),
  owner: nullable(text),
  fence: integer,
  error: text,
  sentAt: nullable(text),
  createdAt: text,
});

/** A row of the table. */
export type MessageRow = ReturnType<typeof messageTable.decode>;

/** What an attempt changes. */
type Settled = Pick<MessageRow, 'state' | 'dueAt' | 'error' | 'sentAt'>;

/** SQL over messages. */
export function createMessageStore(sql: Sql) {
  const { knex } = sql;
  const { name } = messageTable;
  const skipLocked = sql.dialect === 'postgres' ? 'for update skip locked' : '';
  const ended = { due_at: null, owner: null, sealed: '' };
  return {
    /** The channels for which something is due. */
    waiting: sql.prepare<{ now: Instant }>((k, p) =>
      k.raw('select distinct channel from messages where due_at <= ?', [p.now]),
    ),
    /** Gives up what would come too late, whoever was at it. */
    expire: (channel: Channel, now: Instant): Query =>
      sql.compile(
        knex(name)
          .where({ channel })
          .andWhere('due_at', '<=', now)
          .andWhere('expire', '<=', now)
          .update({ ...ended, state: 'expired', fence: knex.raw('fence + 1') }),
      ),
    /** Takes what is due longest: nobody else does until the lease is over, and the fence tells who came later. */
    claim: sql.prepare<{ channel: Channel; now: Instant; until: Instant; owner: string; most: number }>((k, p) =>
      k.raw(
        `with due as materialized (
          select id from messages where channel = ? and due_at <= ? order by due_at limit ? ${skipLocked})
        update messages set state = 'sending', fence = fence + 1, attempt = attempt + 1, owner = ?, due_at = ?
        where id in (select id from due) returning ?`,
        [p.channel, p.now, p.most, p.owner, p.until, messageTable.select(sql)],
      ),
    ),
    /** Ends an attempt; changes nothing where somebody else has claimed the message since. */
    finish: ({ id, fence }: Pick<MessageRow, 'id' | 'fence'>, { state, dueAt, error, sentAt }: Settled): Query =>
      sql.compile(
        knex(name)
          .where({ id, fence })
          .update({ ...(dueAt === null ? ended : { owner: null }), state, due_at: dueAt, error, sent_at: sentAt }),
      ),

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
    /** Removes some of what is older than a time and has ended. */
    prune: (before: Instant, most: number): Query =>
      sql.compile(
        knex(name)
          .whereIn(
            'id',
            knex(name)
              .where('created_at', '<', before)
              .whereNull('due_at')
              .orderBy('created_at')
              .limit(most)
              .select('id'),
          )
          .delete(),
      ),
  };
}

/** The store of messages. */
export type MessageStore = ReturnType<typeof createMessageStore>;

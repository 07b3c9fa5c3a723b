import { createHash } from 'node:crypto';
import type pg from 'pg';
import { Lru } from '../cache/lru.js';
import type { Pooled } from './postgres-servers.js';

/** Bounds of the cache of texts that were sent. */
const texts = { bytes: 4_194_304, entries: 2000, largest: 65_536 } as const;
/** Most prepared statements of a connection, here and on the server. A connection with more is closed and replaced after its use. */
const prepared = { statements: 500, characters: 1_000_000 } as const;

const nameLength = 20;

interface Prepared {
  readonly names: Set<string>;
  characters: number;
}

/** Prepared statements: `auto` prepares unless a pooler is in between. */
export type Preparing = 'auto' | boolean;

/** Names of prepared statements. */
export interface StatementNames {
  /** The statement name of a text on a connection; undefined if it should not be prepared. */
  nameOf(sql: string, client: pg.PoolClient): string | undefined;
  /** True if the connection has more prepared statements than allowed. */
  isFull(client: pg.PoolClient): boolean;
  /** Stops naming statements: a pooler between mixes them up. False if that was known. */
  giveUp(): boolean;
}

/**
 * Names texts from their second use on. A prepared statement stays with its connection, on the server and in pg, and cannot be released in
 * a failed transaction. The lifetime of the connection is therefore limited instead.
 */
export function nameStatements(preparing: Preparing, pooled: Pooled): StatementNames {
  let isOn = preparing !== false;
  const cache = new Lru<string>(texts);
  const preparedBy = new WeakMap<pg.PoolClient, Prepared>();
  /** Undefined at the first use: most texts that are sent once are never sent again. */
  const nameOf = (sql: string): string | undefined => {
    const name = cache.get(sql);
    if (name === undefined && cache.fits(sql, nameLength))
      cache.set(sql, createHash('sha256').update(sql).digest('base64url').slice(0, nameLength), nameLength);
    return name;
  };
  return {
    nameOf: (sql, client) => {
      const name = isOn && !(preparing === 'auto' && pooled.has(client)) ? nameOf(sql) : undefined;
      if (name === undefined) return undefined;
      let own = preparedBy.get(client);
      if (own === undefined) {
        own = { names: new Set(), characters: 0 };
        preparedBy.set(client, own);
      }
      if (!own.names.has(name)) {
        own.names.add(name);
        own.characters += sql.length;
      }
      return name;
    },
    isFull: (client) => {
      const own = preparedBy.get(client);
      return own !== undefined && (own.names.size > prepared.statements || own.characters > prepared.characters);
    },
    giveUp: () => {
      const wasOn = isOn;
      isOn = false;
      return wasOn;
    },
  };
}

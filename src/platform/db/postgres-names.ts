import { createHash } from 'node:crypto';
import type pg from 'pg';
import { Lru } from '../lru.js';

/** What is kept of texts that were sent. */
const texts = { bytes: 4_194_304, entries: 2000, largest: 65_536 } as const;
/** What a connection keeps prepared, here and on the server; one that has more is closed and replaced after its use. */
const prepared = { statements: 500, characters: 1_000_000 } as const;

const nameLength = 20;

interface Prepared {
  readonly names: Set<string>;
  characters: number;
}

/** Names of statements, under which a server keeps them prepared. */
export interface StatementNames {
  /** The name of a text that is sent by a connection; undefined where it should not be kept. */
  nameOf(sql: string, client: pg.PoolClient): string | undefined;
  /** Whether the connection has had more statements prepared than it may keep. */
  isFull(client: pg.PoolClient): boolean;
}

/**
 * Names the texts that come again, when they do. A prepared statement stays with its connection, on the server and in pg, and one in a
 * transaction that fails cannot be given back; so what is bounded is the life of the connection.
 */
export function nameStatements(isOn: boolean): StatementNames {
  const cache = new Lru<string>(texts);
  const preparedBy = new WeakMap<pg.PoolClient, Prepared>();
  /** Undefined at the first time: most texts that come once never come again. */
  const nameOf = (sql: string): string | undefined => {
    const name = cache.get(sql);
    if (name === undefined && cache.fits(sql, nameLength))
      cache.set(sql, createHash('sha256').update(sql).digest('base64url').slice(0, nameLength), nameLength);
    return name;
  };
  return {
    nameOf: (sql, client) => {
      const name = isOn ? nameOf(sql) : undefined;
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
  };
}

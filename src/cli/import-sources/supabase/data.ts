import type { ForeignRow } from '#src/platform/foreign-databases/index.js';

/** A column of a table. */
export interface Column {
  readonly name: string;
  /** The type as Postgres prints it, such as `character varying(20)` or `public.mood[]`. */
  readonly type: string;
  readonly notNull: boolean;
  readonly hasDefault: boolean;
  /** The expression of the default, such as `'open'::text`. */
  readonly defaultText?: string | undefined;
  /** Characters of the longest value. */
  longest: number;
  /** True if a value cannot be an id. */
  hasOtherThanIds: boolean;
}

/** A policy of row level security. */
export interface Policy {
  readonly name: string;
  readonly command: 'all' | 'select' | 'insert' | 'update' | 'delete';
  readonly isRestrictive: boolean;
  readonly roles: readonly string[];
  readonly using: string | undefined;
  readonly check: string | undefined;
}

/** Roles of Postgres that clients of Supabase have. */
export type ClientRole = 'anon' | 'authenticated';
/** A command that needs a privilege. */
export type TableCommand = 'select' | 'insert' | 'update' | 'delete';

/** A table: an ordinary one, or a partitioned one with the rows of its partitions. */
export interface SourceTable {
  readonly schema: string;
  readonly name: string;
  /** Columns without generated ones. */
  readonly columns: Column[];
  readonly generated: string[];
  /** Definitions such as `PRIMARY KEY (id)`. */
  readonly constraints: string[];
  /** Statements `CREATE INDEX`. */
  readonly indexes: string[];
  readonly policies: Policy[];
  rowSecurity: boolean;
  /** Names of the partitions that have its rows. */
  readonly partitions: string[];
  readonly privileges: Record<ClientRole, Set<TableCommand>>;
}

/** A database of Supabase. All values are texts or null. */
export interface SupabaseData {
  readonly tables: readonly SourceTable[];
  /** Elements of enums by the name of the type. */
  readonly enums: ReadonlyMap<string, readonly string[]>;
  /** Something that applies to all tables, such as missing privileges. */
  readonly remarks: readonly string[];
  rows(table: SourceTable): AsyncIterable<readonly ForeignRow[]>;
  /** Rows of `auth.users` with lists of `identities` and `mfa_factors`. */
  users(): AsyncIterable<readonly ForeignRow[]>;
  close(): Promise<void>;
}

/** The name of a table with its schema. */
export const tableName = ({ schema, name }: Pick<SourceTable, 'schema' | 'name'>): string => `${schema}.${name}`;
/** Schemas that are read beside the chosen one. */
export const ownSchemas = ['auth', 'storage'] as const;
/** Commands that need a privilege. */
export const tableCommands: readonly TableCommand[] = ['select', 'insert', 'update', 'delete'];

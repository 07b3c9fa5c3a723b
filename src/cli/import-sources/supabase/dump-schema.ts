import {
  type ClientRole,
  type Column,
  ownSchemas,
  type Policy,
  type SourceTable,
  type TableCommand,
  tableCommands,
  tableName,
} from './data.js';

/** The beginning of the rows of a table. */
interface CopyStart {
  readonly table: string;
  readonly columns: readonly string[];
}

/** Reads the statements of a dump line by line. */
export interface SchemaReader {
  readonly schemas: readonly string[];
  /** Adds a line outside of rows. Returns the table and its columns if rows follow. */
  add(line: string): CopyStart | undefined;
  /** True within a text or the body of a function. */
  isQuoted(): boolean;
  tableOf(name: string): SourceTable | undefined;
  tables(): readonly SourceTable[];
  enums(): ReadonlyMap<string, readonly string[]>;
  /** Tables with rows whose columns were not defined before them. */
  tableless(): readonly string[];
  hasInserts(): boolean;
  hasPrivileges(): boolean;
}

const name = String.raw`(?:"(?:[^"]|"")+"|[\w$]+)`;
const qualified = `(${name})\\.(${name})`;
const forms = {
  copy: new RegExp(`^COPY ${qualified} \\((.*)\\) FROM stdin;$`),
  table: new RegExp(
    `^CREATE (?:UNLOGGED )?TABLE ${qualified} \\(\\n([\\s\\S]*)\\n\\)(?:[^()]*|\\s+PARTITION BY [\\s\\S]*);$`,
  ),
  partition: new RegExp(`^ALTER TABLE (?:ONLY )?${qualified} ATTACH PARTITION ${qualified} `),
  enum: new RegExp(`^CREATE TYPE ${qualified} AS ENUM \\(([\\s\\S]*)\\);$`),
  constraint: new RegExp(
    `^ALTER TABLE (?:ONLY )?${qualified}\\s+ADD CONSTRAINT ${name} ((?:PRIMARY KEY|UNIQUE|FOREIGN KEY)[\\s\\S]*);$`,
  ),
  identity: new RegExp(`^ALTER TABLE (?:ONLY )?${qualified} ALTER COLUMN (${name}) (?:ADD GENERATED|SET DEFAULT)`),
  security: new RegExp(`^ALTER TABLE (?:ONLY )?${qualified} ENABLE ROW LEVEL SECURITY;$`),
  index: new RegExp(`^(CREATE (?:UNIQUE )?INDEX ${name} ON (?:ONLY )?${qualified} [\\s\\S]*);$`),
  policy: new RegExp(
    `^CREATE POLICY (${name}) ON ${qualified}(?: AS (PERMISSIVE|RESTRICTIVE))?(?: FOR (ALL|SELECT|INSERT|UPDATE|DELETE))?(?: TO (.*?))?(?: USING (\\([\\s\\S]*?\\)))?(?: WITH CHECK (\\([\\s\\S]*\\)))?;$`,
  ),
  grant: new RegExp(`^GRANT ([A-Z, ]+) ON TABLE ${qualified} TO (.*?)(?: WITH GRANT OPTION)?;$`),
  insert: new RegExp(`^INSERT INTO ${qualified} `),
};

/** Creates a reader for tables of some schemas. */
export function createSchemaReader(schemas: ReadonlySet<string>): SchemaReader {
  const state: SchemaState = {
    schemas,
    tables: new Map(),
    enums: new Map(),
    tableless: [],
    inserts: false,
    privileges: false,
  };
  const { tables, enums } = state;
  let statement = '';
  let quote: string | undefined;
  return {
    schemas: [...schemas],
    add: (line) => {
      if (statement === '' && (line === '' || line.startsWith('--') || line.startsWith('\\'))) return undefined;
      statement += statement === '' ? line : `\n${line}`;
      quote = quoteAfter(line, quote);
      if (quote !== undefined || !line.trimEnd().endsWith(';')) return undefined;
      const sql = withPlainNames(statement.trimEnd());
      statement = '';
      return takeStatement(state, sql);
    },
    isQuoted: () => quote !== undefined,
    tableOf: (one) => tables.get(one),
    tables: () => {
      for (const table of tables.values()) {
        table.policies.sort((one, other) => (one.name < other.name ? -1 : 1));
        table.indexes.sort();
      }
      const partitions = new Set([...tables.values()].flatMap((table) => table.partitions));
      const own = [...tables.values()].filter((table) => !partitions.has(tableName(table)));
      return own.sort((one, other) => (tableName(one) < tableName(other) ? -1 : 1));
    },
    enums: () => enums,
    tableless: () => state.tableless,
    hasInserts: () => state.inserts,
    hasPrivileges: () => state.privileges,
  };
}

/** Definitions of the statements read so far. */
interface SchemaState {
  readonly schemas: ReadonlySet<string>;
  readonly tables: Map<string, SourceTable>;
  readonly enums: Map<string, readonly string[]>;
  readonly tableless: string[];
  inserts: boolean;
  privileges: boolean;
}

const textColumn: Omit<Column, 'name'> = {
  type: 'text',
  notNull: false,
  hasDefault: false,
  longest: 0,
  hasOtherThanIds: false,
};

function emptyTable(schema: string, name: string): SourceTable {
  return {
    schema,
    name,
    columns: [],
    generated: [],
    constraints: [],
    indexes: [],
    policies: [],
    rowSecurity: false,
    partitions: [],
    privileges: { anon: new Set(), authenticated: new Set() },
  };
}

/** Adds a statement. Returns the table and its columns if rows follow. */
function takeStatement(state: SchemaState, sql: string): CopyStart | undefined {
  const { schemas, tables, enums } = state;
  const named = (schema = '', table = '') => tables.get(tableName({ schema: plain(schema), name: plain(table) }));
  const copy = forms.copy.exec(sql);
  if (copy) {
    const [, schema = '', table = '', columns = ''] = copy;
    if (named(schema, table) === undefined && schemas.has(plain(schema))) {
      // The dumps of Supabase's command line have the rows of its own schemas without their tables.
      if (ownSchemas.some((own) => own === plain(schema))) {
        const made = emptyTable(plain(schema), plain(table));
        made.columns.push(...namesOf(columns).map((column) => ({ ...textColumn, name: column })));
        tables.set(tableName(made), made);
      } else state.tableless.push(tableName({ schema: plain(schema), name: plain(table) }));
    }
    return { table: tableName({ schema: plain(schema), name: plain(table) }), columns: namesOf(columns) };
  }
  const insert = forms.insert.exec(sql);
  if (insert && named(insert[1], insert[2])) state.inserts = true;
  const table = tableStatement(sql);
  if (table !== undefined && schemas.has(table.schema)) tables.set(tableName(table), table);
  const type = forms.enum.exec(sql);
  if (type) enums.set(`${type[1]}.${type[2]}`, elementsOf(type[3] ?? ''));
  const constraint = forms.constraint.exec(sql);
  if (constraint) named(constraint[1], constraint[2])?.constraints.push(constraint[3] ?? '');
  const identity = forms.identity.exec(sql);
  if (identity) {
    const columns = named(identity[1], identity[2])?.columns;
    const at = columns?.findIndex((column) => column.name === plain(identity[3] ?? '')) ?? -1;
    const column = columns?.[at];
    if (column !== undefined) columns?.splice(at, 1, { ...column, hasDefault: true });
  }
  const attached = forms.partition.exec(sql);
  if (attached) {
    const [, schema = '', table = '', ofSchema = '', partition = ''] = attached;
    named(schema, table)?.partitions.push(tableName({ schema: plain(ofSchema), name: plain(partition) }));
  }
  const security = forms.security.exec(sql);
  const secured = security && named(security[1], security[2]);
  if (secured) secured.rowSecurity = true;
  const index = forms.index.exec(sql);
  if (index) named(index[2], index[3])?.indexes.push(index[1] ?? '');
  const policy = forms.policy.exec(sql);
  if (policy) named(policy[2], policy[3])?.policies.push(policyOf(policy));
  const grant = forms.grant.exec(sql);
  if (grant) {
    const granted = named(grant[2], grant[3]);
    if (granted !== undefined) state.privileges = true;
    for (const role of namesOf(grant[4] ?? '').flatMap(clientRoles))
      for (const command of granted === undefined ? [] : commandsOf(grant[1] ?? ''))
        granted?.privileges[role].add(command);
  }
  return undefined;
}

/** The quote that is open after a line: `'`, `"` or the tag of a dollar quote. */
function quoteAfter(line: string, before: string | undefined): string | undefined {
  let open = before;
  for (const [sign] of line.matchAll(/'|"|--|\$\w*\$/g)) {
    if (open !== undefined) {
      if (sign === open) open = undefined;
    } else if (sign === '--') return undefined;
    else open = sign;
  }
  return open;
}

/** The statement as `pg_dump` prints it by default. The command line of Supabase quotes all names and adds `IF NOT EXISTS`. */
function withPlainNames(sql: string): string {
  return sql
    .replace(/^(CREATE (?:UNLOGGED )?TABLE |CREATE (?:UNIQUE )?INDEX )IF NOT EXISTS /, '$1')
    .replace(/'(?:[^']|'')*'|"([a-z_][a-z0-9_]*)"/g, (whole, name: string | undefined) => name ?? whole);
}

function plain(text: string): string {
  return text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text;
}

function namesOf(list: string): string[] {
  return list.match(new RegExp(name, 'g'))?.map(plain) ?? [];
}

function elementsOf(list: string): string[] {
  return (list.match(/'(?:[^']|'')*'/g) ?? []).map((text) => text.slice(1, -1).replaceAll("''", "'"));
}

function clientRoles(role: string): ClientRole[] {
  if (role === 'PUBLIC') return ['anon', 'authenticated'];
  return role === 'anon' || role === 'authenticated' ? [role] : [];
}

function commandsOf(privileges: string): readonly TableCommand[] {
  const words = privileges.toLowerCase().split(/,\s*/);
  return words.includes('all') ? tableCommands : tableCommands.filter((command) => words.includes(command));
}

const columnForm = new RegExp(
  `^(${name}) (.*?)(?: COLLATE \\S+)?((?: (?:DEFAULT|NOT NULL|GENERATED|CONSTRAINT)\\b.*)?)$`,
  's',
);

function tableStatement(sql: string): SourceTable | undefined {
  const [, schema = '', table = '', body = ''] = forms.table.exec(sql) ?? [];
  if (table === '') return undefined;
  const made = emptyTable(plain(schema), plain(table));
  // pg_dump prints each column in a line of its own, with four spaces before it.
  for (const line of body.split(/,?\n {4}(?! )/).flatMap((one) => one.replace(/^ {4}/, '').replace(/,$/, ''))) {
    const [, column = '', type = '', rest = ''] = columnForm.exec(line) ?? [];
    if (column === '' || column === 'CONSTRAINT') continue;
    if (/ GENERATED ALWAYS AS \(/.test(rest)) made.generated.push(plain(column));
    else
      made.columns.push({
        name: plain(column),
        type: type.replace(/^pg_catalog\./, ''),
        notNull: / NOT NULL\b/.test(rest),
        hasDefault: / (DEFAULT|GENERATED)\b/.test(rest),
        defaultText: / DEFAULT (.*?)(?: NOT NULL| CONSTRAINT .*)?$/s.exec(rest)?.[1],
        longest: 0,
        hasOtherThanIds: false,
      });
  }
  return made;
}

function policyOf(found: RegExpExecArray): Policy {
  const [, policy = '', , , kind, command = 'ALL', roles = 'public', using, check] = found;
  return {
    name: plain(policy),
    command: command.toLowerCase() as Policy['command'],
    isRestrictive: kind === 'RESTRICTIVE',
    roles: namesOf(roles).map((role) => (role === 'PUBLIC' ? 'public' : role)),
    using: using === undefined ? undefined : inner(using),
    check: check === undefined ? undefined : inner(check),
  };
}

/** The expression without the brackets of the statement. */
function inner(text: string): string {
  return text.slice(1, -1);
}

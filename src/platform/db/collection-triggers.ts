import { countsTable, documentTable, readersTable } from './collection-tables.js';
import { dialectFacts } from './dialect-facts.js';
import type { DialectName } from './dialect-words.js';

/**
 * The roles that may read a document, with its sequence and creation time. Returns the text after SELECT, for one row of documents or a
 * table of them. A permission is `read("role")`, so the role starts at the seventh character and ends two before the last.
 */
export function readRolesSql(dialect: DialectName, row: string, isTable = true): string {
  const from = isTable ? `${row} cross join ` : '';
  const columns = `substr(value, 7, length(value) - 8), ${row}.seq, ${row}.created_at`;
  return dialect === 'sqlite'
    ? `${columns} from ${from}json_each(${row}.permissions) where value glob 'read("*'`
    : `${columns} from ${from}${isTable ? 'lateral ' : ''}json_array_elements_text(${row}.permissions::json) as value where value like 'read("%'`;
}

/**
 * Triggers that maintain the readers of each document and the document count of a collection. They run within the writing statement, which
 * saves one statement per write. Reader rows are found by the roles that their document had, so each is one entry in one index. Postgres
 * appends to the count, because updating one row would make all writers wait for each other; a job sums it up.
 */
export function collectionTriggers(dialect: DialectName, number: number): string[] {
  const [documents, readers] = [documentTable(number), readersTable(number)];
  const add = `insert into ${readers} (role, seq, created_at) select ${readRolesSql(dialect, 'new', false)}`;
  const old = readRolesSql(dialect, 'old', false).replace(', old.seq, old.created_at', '');
  const remove = `delete from ${readers} where seq = old.seq and role in (select ${old})`;
  if (dialect === 'sqlite') {
    const count = (by: string) => `update ${countsTable} set documents = documents ${by} where number = ${number}`;
    return [
      `create trigger ${readers}_add after insert on ${documents} when new.permissions <> '[]' begin ${add}; end`,
      `create trigger ${readers}_change after update of permissions on ${documents} begin ${remove}; ${add}; end`,
      `create trigger ${readers}_remove after delete on ${documents} when old.permissions <> '[]' begin ${remove}; end`,
      `create trigger ${documents}_add after insert on ${documents} begin ${count('+ 1')}; end`,
      `create trigger ${documents}_remove after delete on ${documents} begin ${count('- 1')}; end`,
    ];
  }
  const addAll = `insert into ${readers} (role, seq, created_at) select ${readRolesSql(dialect, 'added')}`;
  const count = (of: string) => `insert into ${countsTable} (number, documents) ${of}`;
  const countAll = count(`select ${number}, count(*) from added having count(*) > 0`);
  const change = `${remove}; if tg_op = 'UPDATE' then ${add}; else ${count(`values (${number}, -1)`)}; end if`;
  const keep = `execute function ${readers}_keep()`;
  return [
    `create or replace function ${readers}_keep() returns trigger language plpgsql as $$ begin if tg_op = 'INSERT' then ${addAll}; ${countAll}; else ${change}; end if; return null; end $$`,
    `create trigger ${readers}_add after insert on ${documents} referencing new table as added for each statement ${keep}`,
    `create trigger ${readers}_change after update of permissions on ${documents} for each row ${keep}`,
    `create trigger ${readers}_remove after delete on ${documents} for each row ${keep}`,
  ];
}

/**
 * The trigger on Postgres that records each change of documents with its transaction, for totals that were counted before. Inserts and
 * deletes add to the count anyway. SQLite counts fast enough without it.
 */
export function changeTrigger(dialect: DialectName, number: number): string[] {
  const documents = documentTable(number);
  if (!dialectFacts[dialect].recordsChanges) return [];
  return [
    `create or replace trigger ${documents}_changed after update on ${documents} for each statement execute function documents_changed(${number})`,
  ];
}

/** The names of the triggers on SQLite. */
export function triggerNames(number: number): string[] {
  const [documents, readers] = [documentTable(number), readersTable(number)];
  return [
    ...['add', 'change', 'remove'].map((when) => `${readers}_${when}`),
    ...['add', 'remove'].map((when) => `${documents}_${when}`),
  ];
}

/** The same triggers, replacing those of an earlier layout. */
export function replacedTriggers(dialect: DialectName, number: number): string[] {
  const [documents, readers] = [documentTable(number), readersTable(number)];
  const of = dialect === 'postgres' ? ` on ${documents}` : '';
  return [
    ...['add', 'change', 'remove'].map((when) => `drop trigger ${readers}_${when}${of}`),
    ...collectionTriggers(dialect, number),
  ];
}

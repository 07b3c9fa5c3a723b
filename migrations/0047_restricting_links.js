// Which links keep a document from being deleted where a relationship restricts: those whose maker could change the document. Links that were
// made before all do. The tables of links are made at run time.

const linkTables = (tables) => tables.filter((name) => /^l_\d+_\d+$/.test(name));

/** @type {(knex: import('knex').Knex, dialect: string, tables: string[]) => unknown[]} */
export const up = (knex, _dialect, tables) =>
  linkTables(tables).map((name) => knex.raw(`alter table ${name} add column restricts smallint not null default 1`));

/** @type {typeof up} */
export const down = (knex, _dialect, tables) =>
  linkTables(tables).map((name) => knex.raw(`alter table ${name} drop column restricts`));

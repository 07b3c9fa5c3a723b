export { type ForeignPostgres, openForeignPostgres } from './postgres.js';
export type { ForeignRow } from './row.js';
export { openScratch, type Scratch } from './scratch.js';
export { type ForeignSqlite, openForeignSqlite } from './sqlite.js';

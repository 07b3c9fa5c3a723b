export { type ForeignPostgres, openForeignPostgres } from './postgres.js';
export { openScratch, type Scratch } from './scratch.js';
export { type ForeignRow, type ForeignSqlite, openForeignSqlite } from './sqlite.js';

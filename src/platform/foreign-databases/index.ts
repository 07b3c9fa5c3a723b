export type { ForeignRow } from './row.js';
export { type ForeignSqlite, openForeignSqlite } from './sqlite.js';

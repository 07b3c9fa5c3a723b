export { listParameters, searchParameter } from './api.js';
export { commonFields, type ListField, type PageWindow, parsePage } from './fields.js';
export { createConditionCompiler } from './query/compile.js';
export type { Condition, Vocabulary, Within } from './query/condition.js';
export { boundValue, type Fragment, join } from './query/fragment.js';
export { afterCursor, type OrderColumn, orderBy } from './query/order.js';
export { type ListQuery, type Order, parseListQuery } from './query/parse.js';
export { oneText, readQuery, readShape, type WireQuery } from './query/wire.js';
export type { ListRows } from './rows.js';
export {
  createLists,
  type ListQueries,
  type ListRequest,
  type Lists,
  listRequestOf,
} from './store.js';

export { listParameters, searchParameter } from './api.js';
export { commonFields, type ListField, type Page, parsePage } from './fields.js';
export { createCompiler } from './query/compile.js';
export { bind, type Fragment, join } from './query/fragment.js';
export { afterCursor, type OrderColumn, orderBy } from './query/order.js';
export { type Condition, createQueryParser, type ListQuery, type Order, type Vocabulary } from './query/parse.js';
export { oneText, readQuery, readShape, type WireQuery } from './query/wire.js';
export {
  createLists,
  type ListQueries,
  type ListRequest,
  type Lists,
  listRequestOf,
  readList,
} from './store.js';

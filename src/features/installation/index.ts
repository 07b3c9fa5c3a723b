// What the wing `installation` offers the others: projects, limits, and messages to people.
export type { Courier } from './courier/index.js';
export { type Limits, proofKey } from './limits/index.js';
export type { Projects } from './projects/index.js';

export { createApp } from './app.js';
export { describeApi } from './openapi.js';
export { withCollections } from './openapi-collections.js';
export { listen } from './server.js';

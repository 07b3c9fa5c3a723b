/** The base path of the API. */
export const basePath = '/v1';

/** The path for WebSocket connections. It is not a path of any operation. */
const realtimePath = `${basePath}/realtime`;

/** True for the realtime path, with or without a trailing slash. */
export const isRealtime = (path: string): boolean => path === realtimePath || path === `${realtimePath}/`;

/** The path below which the interface answers. */
export const basePath = '/v1';

/** Where sockets are opened; no operation has this path. */
export const realtimePath = `${basePath}/realtime`;

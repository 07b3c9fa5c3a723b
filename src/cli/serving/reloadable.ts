import type { Config } from '#src/platform/config/schema.js';

/** Settings that a running server changes on SIGHUP. It also reads the files of its certificate again. */
export const reloadable = ['logLevel', 'rateLimit', 'rateLimits'] as const satisfies readonly (keyof Config)[];

/** Settings that only commands use. */
export const ofCommands = ['project', 'updateUrl'] as const satisfies readonly (keyof Config)[];

import { z } from 'zod';
import { declare, json, serverKeys } from '#src/contract/declaration.js';
import { implement, type Operation } from '#src/contract/operation.js';
import type { Runtime } from '#src/platform/index.js';

/** The Appwrite version that the wire is compatible with. Tools check it before they continue. */
const compatibleVersion = '1.9.5';

const status = z
  .object({
    name: z.string(),
    ping: z.int().meta({ description: 'Milliseconds of a round trip' }),
    status: z.literal('pass'),
  })
  .meta({ id: 'HealthStatus' });

const ofKey = {
  tag: 'operations',
  method: 'GET',
  access: serverKeys('health.read'),
  limits: { calls: 'data' },
  reply: { status: 200, errors: ['general_unavailable'] },
} as const;

const healthApi = declare({
  version: {
    ...ofKey,
    id: 'health.version',
    path: '/health/version',
    summary: 'The version of Appwrite that the service is compatible with.',
    access: { project: false, readableByPlatforms: true, auth: ['guest', 'user', 'key'], scopes: [] },
    limits: { calls: 'none' },
    reply: { status: 200, shape: json(z.object({ version: z.string() }).meta({ id: 'HealthVersion' })), errors: [] },
  },
  server: {
    ...ofKey,
    id: 'health.get',
    path: '/health',
    summary: 'The server answers.',
    reply: { status: 200, shape: json(status), errors: [] },
  },
  database: {
    ...ofKey,
    id: 'health.getDB',
    path: '/health/db',
    summary: 'The database answers.',
    reply: {
      ...ofKey.reply,
      shape: json(z.object({ total: z.int(), statuses: z.array(status) }).meta({ id: 'HealthStatusList' })),
    },
  },
  time: {
    ...ofKey,
    id: 'health.getTime',
    path: '/health/time',
    summary: 'The clocks of the database and of the server, in seconds since 1970.',
    reply: {
      ...ofKey.reply,
      shape: json(z.object({ remoteTime: z.int(), localTime: z.int(), diff: z.int() }).meta({ id: 'HealthTime' })),
    },
  },
});

/** Reports the state of the installation to server keys, in the format of Appwrite's Health service. */
export function createHealth({ driver, clock }: Pick<Runtime, 'driver' | 'clock'>): readonly Operation[] {
  const pingOf = async (name: string) => {
    const began = clock.monotonic();
    await driver.ping();
    return { name, ping: Math.round(clock.monotonic() - began), status: 'pass' as const };
  };
  return implement(healthApi, {
    version: () => ({ version: compatibleVersion }),
    server: () => ({ name: 'server', ping: 0, status: 'pass' as const }),
    database: async () => ({ total: 1, statuses: [await pingOf(driver.dialect)] }),
    time: async () => {
      const remote = await driver.serverTime();
      const [localTime, remoteTime] = [clock.now(), remote ?? clock.now()].map((time) => Math.floor(time / 1000)) as [
        number,
        number,
      ];
      return { remoteTime, localTime, diff: remoteTime - localTime };
    },
  });
}

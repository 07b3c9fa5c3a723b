import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createAppliance } from '#src/appliance.js';
import { loadConfig } from '#src/platform/config/load.js';

/** The project of these tests. */
export const projectId = 'shop';

/** A line of the access log. */
type Answered = { event: string; method: string; route: string; status: number; actor?: string; type?: string };

/** A running service. */
type Service = {
  /** Port of the API. */
  port: number;
  /** What was answered so far, oldest first, in the words of the access log. */
  answered(): Answered[];
  addPlatform(hostname: string): Promise<void>;
  close(): Promise<void>;
};

/** Starts the service on a free port of 127.0.0.1 and an empty database; `publicHost` is the name under which browsers reach it. */
export async function startService(publicHost: string, tls?: { cert: string; key: string }): Promise<Service> {
  const dir = mkdtempSync(join(tmpdir(), 'svc-browser-'));
  const database = await emptyDatabase(join(dir, 'svc.db'));
  const files = Object.entries(tls ?? {}).map(([name, pem]) => {
    const path = join(dir, `${name}.pem`);
    writeFileSync(path, pem, { mode: 0o600 });
    return [`SVC_TLS_${name.toUpperCase()}`, path];
  });
  const lines: string[] = [];
  const { config } = loadConfig({
    file: join(dir, 'none.env'),
    environment: {
      SVC_DATA_DIR: dir,
      SVC_DATABASE_URL: database.url,
      SVC_MASTER_KEY: randomBytes(32).toString('base64url'),
      SVC_BASE_URL: `${tls === undefined ? 'http' : 'https'}://${publicHost}/v1`,
      SVC_PORT: '0',
      SVC_LOG_FORMAT: 'json',
      ...Object.fromEntries(files),
    },
  });
  const appliance = await createAppliance(config, { writeLog: (text) => lines.push(...text.trim().split('\n')) });
  const { platform, features } = appliance;
  await platform.migrator.up();
  const operator = { projectId, actor: { kind: 'operator', id: 'test' }, requestId: '' };
  await platform.db.work(operator, (unit) => features.projects.create(unit, { id: projectId, name: 'Shop' }));
  const listener = await appliance.serve();
  return {
    port: listener.port,
    answered: () => {
      platform.log.flush();
      return lines.map((line) => JSON.parse(line)).filter(({ event }: Answered) => event === 'request');
    },
    addPlatform: async (hostname) => {
      const platformOf = { id: 'unique()', name: '', hostname };
      await platform.db.work(operator, (unit) => features.projects.addPlatform(unit, projectId, platformOf));
    },
    close: async () => {
      await listener.drain();
      await appliance.close();
      await database.drop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** An empty database of the kind this run is about. */
async function emptyDatabase(file: string): Promise<{ url: string; drop(): Promise<void> }> {
  const server = process.env.SVC_TEST_POSTGRES_URL;
  if (process.env.SVC_TEST_DATABASE !== 'postgres' || server === undefined)
    return { url: `sqlite:${file}`, drop: async () => {} };
  const name = `browser_${randomBytes(6).toString('hex')}`;
  const ask = async (sql: string) => {
    const client = new pg.Client({ connectionString: server });
    await client.connect();
    await client.query(sql);
    await client.end();
  };
  await ask(`create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => ask(`drop database ${name} with (force)`) };
}

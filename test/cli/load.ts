// Ten connections that ask a running server for this and that, a little at a time, and what became of it.
import assert from 'node:assert/strict';
import { converse } from '../../bench/connection.js';
import { type BenchRequest, sendOnce, toWire } from '../../bench/request.js';
import { percentile } from '../../bench/statistics.js';
import type { Installation, Server } from '../harness/cli.js';

const connections = 10;
const pauseMs = 50;

/** What a stretch of the load saw. */
interface Stretch {
  readonly requests: number;
  /** Statuses other than 2xx, and connections that broke, in words. */
  readonly failures: readonly string[];
  readonly p99: number;
}

/** A collection and a user in a project, and the load on them. */
interface Load {
  /** Asks until that has ended; every document that it made is deleted then. */
  run(until: Promise<unknown>): Promise<Stretch>;
}

const headers = { 'X-Service-Project': 'shop' };
const documents = '/v1/databases/main/collections/orders/documents';

/** Makes project, collection and user by command, and logs the user in. */
export async function prepareLoad(place: Installation, { url }: Server): Promise<Load> {
  const inMain = ['--project', 'shop', '--database', 'main'];
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  await place.json(['database', 'create', 'Main', '--project', 'shop', '--id', 'main']);
  const permissions = ['create', 'read', 'update', 'delete'].flatMap((may) => ['--permission', `${may}("users")`]);
  await place.json(['collection', 'create', 'Orders', ...inMain, '--id', 'orders', ...permissions]);
  await place.json(['collection', 'add-attribute', 'orders', 'count', ...inMain, '--type', 'integer']);
  await place.json(['collection', 'add-index', 'orders', 'by_count', ...inMain, '--attributes', 'count']);

  const port = Number(new URL(url).port);
  const person = { email: 'ada@example.com', password: 'correct horse battery' };
  const post = async (path: string, body: object): Promise<{ secret?: string }> => {
    const answer = await sendOnce({ method: 'POST', path, headers, body }, port);
    assert.equal(answer.status, 201);
    return (await answer.json()) as { secret?: string };
  };
  await post('/v1/account', { userId: 'ada', ...person, name: 'Ada' });
  const { secret = '' } = await post('/v1/account/sessions/email', person);
  const asAda = { ...headers, 'X-Service-Session': secret };
  let made = 0;
  return {
    run: (until) => {
      const conversations = Array.from({ length: connections }, () => {
        made += 1;
        return round(asAda, `d${made}`);
      });
      return stretch(port, until, conversations);
    },
  };
}

/** The requests of one connection, over and over: six reads and four writes. */
function round(asAda: Readonly<Record<string, string>>, prefix: string): () => BenchRequest {
  let at = 0;
  const query = (queries: object[]) => queries.map((one) => `queries[]=${encodeURIComponent(JSON.stringify(one))}`);
  const newest = query([
    { method: 'orderDesc', attribute: 'count' },
    { method: 'limit', values: [10] },
  ]).join('&');
  return () => {
    const turn = Math.floor(at / 10);
    const document = `${documents}/${prefix}-${turn}`;
    const requests: Omit<BenchRequest, 'headers'>[] = [
      { method: 'POST', path: documents, body: { documentId: `${prefix}-${turn}`, data: { count: turn } } },
      { method: 'GET', path: document },
      { method: 'GET', path: '/v1/account' },
      { method: 'PATCH', path: document, body: { data: { count: -turn } } },
      { method: 'GET', path: `${documents}?${newest}` },
      { method: 'GET', path: '/v1/account/prefs' },
      { method: 'PATCH', path: '/v1/account/prefs', body: { prefs: { turn } } },
      { method: 'GET', path: document },
      { method: 'GET', path: '/v1/account/sessions' },
      { method: 'DELETE', path: document },
    ];
    const request = requests[at % requests.length];
    at += 1;
    assert.ok(request);
    return { ...request, headers: asAda };
  };
}

/** Runs all conversations until that has ended and each has ended its round. */
async function stretch(port: number, until: Promise<unknown>, conversations: (() => BenchRequest)[]): Promise<Stretch> {
  let over = false;
  const end = () => {
    over = true;
  };
  until.then(end, end);
  const times: number[] = [];
  const failures: string[] = [];
  await Promise.all(
    conversations.map((next) => {
      let last: BenchRequest | undefined;
      return converse({
        ...{ port, pauseMs },
        next: () => {
          if (over && (last === undefined || last.method === 'DELETE')) return undefined;
          last = next();
          return toWire(last, port);
        },
        answered: (status, milliseconds) => {
          times.push(milliseconds);
          if (status < 200 || status > 299) failures.push(`${last?.method} ${last?.path}: ${status}`);
        },
        broken: (reason) => failures.push(`${last?.method} ${last?.path}: ${reason}`),
      });
    }),
  );
  times.sort((a, b) => a - b);
  return { requests: times.length, failures, p99: percentile(times, 0.99) };
}

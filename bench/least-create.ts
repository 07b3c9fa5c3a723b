// What creating a document costs without the product: our drivers write the rows that a create leaves, in shared commits, and Node's server answers.
// No framework, no login, no permission is looked at, nothing is validated, sealed or numbered. Arguments: port, and the file of SQLite or the URL of Postgres.
import { createServer, type IncomingMessage } from 'node:http';
import { createBatcher } from '#src/platform/db/batch.js';
import type { Driver } from '#src/platform/db/driver.js';
import { openDatabase } from './open-database.js';

const [port = '', place = ''] = process.argv.slice(2);
const columns = {
  least_articles: [
    ...['id', 'created_at', 'updated_at', 'permissions', 'printed'],
    ...['title', 'body', 'author', 'state', 'views', 'rating', 'featured', 'published_at'],
  ],
  least_readers: ['role', 'id'],
  least_audit_entries: [
    ...['id', 'project_id', 'at', 'actor_kind', 'actor_id', 'action', 'resource', 'request_id', 'data', 'mac'],
  ],
  least_events: ['id', 'project_id', 'type', 'created_at', 'data'],
} as const;
type Table = keyof typeof columns;
type Rows = Readonly<Record<Table, readonly string[]>>;
const tables = Object.keys(columns) as Table[];

const driver = await openDatabase(place);
await prepare(driver);

const write = createBatcher<Rows, true>(
  async (group) => {
    const inserts = tables.map((table) => ({ table, columns: columns[table], rows: group.map((rows) => rows[table]) }));
    await driver.transact(async () => ({ value: undefined, inserts }), Number.POSITIVE_INFINITY);
    return group.map(() => true);
  },
  { max: 64, atOnce: 1 },
);

async function prepare({ dialect, exclusive }: Driver): Promise<void> {
  const text = dialect === 'sqlite' ? 'text' : 'text collate "C"';
  const statements = tables.flatMap((table) => {
    const list = columns[table].map((name) => `${name} ${text}`).join(', ');
    const key = table === 'least_readers' ? 'role, id' : 'id';
    const kind = dialect === 'sqlite' && table === 'least_readers' ? ' without rowid' : '';
    return [`drop table if exists ${table}`, `create table ${table} (${list}, primary key (${key}))${kind}`];
  });
  statements.push('create index least_by_author on least_articles (author, published_at desc)');
  statements.push('create index least_by_time on least_audit_entries (project_id, at)');
  await exclusive(async (connection) => {
    for (const sql of statements) await connection.run({ sql, values: [] });
  });
}

let last = 0;
const since = (Date.now() * 1000).toString(16);
const names = JSON.stringify({ attributes: columns.least_articles.slice(5), permissions: true });
const nextId = () => since + (last++).toString(16).padStart(7, '0');

async function create(given: string): Promise<string> {
  const { data } = JSON.parse(given) as { data: Record<string, unknown> };
  const id = nextId();
  const now = new Date().toISOString();
  const user = `user${last % 8}`;
  const permissions = `["read(\\"user:${user}\\")","update(\\"user:${user}\\")","delete(\\"user:${user}\\")"]`;
  const head = `{"$id":"${id}","$sequence":"${last}","$collectionId":"submissions","$databaseId":"press","$createdAt":"${now}"`;
  const printed = `${head},"$updatedAt":"${now}","$permissions":${permissions},${JSON.stringify(data).slice(1)}`;
  const resource = `databases/press/collections/submissions/documents/${id}`;
  await write({
    least_articles: [id, now, now, permissions, printed, ...Object.values(data).map(String)],
    least_readers: [`user:${user}`, id],
    least_audit_entries: [
      ...[nextId(), 'bench', now, 'user', user, 'documentCreated', resource, nextId(), names, 'm'.repeat(43)],
    ],
    least_events: [nextId(), 'bench', 'documentCreated', now, printed],
  });
  return printed;
}

function read(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => resolve(Buffer.concat(chunks).toString()));
    request.on('error', reject);
  });
}

const server = createServer(async (request, response) => {
  const isReady = request.url === '/readyz';
  const body = isReady ? 'ok' : await create(await read(request));
  response.writeHead(isReady ? 200 : 201, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
});
server.listen(Number(port), '127.0.0.1');
process.once('SIGTERM', () => process.exit(0));

// Mechanisms that src has once: leases of rows, retries, shared runs, batches, queues and quotas. Another implementation breaks a rule unless it stands in
// the exceptions with its reason; an exception that is no longer needed fails the test. So does a feature that handles the bytes of its responses.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import ts from 'typescript';
import { root } from '../harness/checkout.js';

interface Mechanism {
  /** The module that implements it. */
  readonly home: string;
  readonly isIn: (text: string) => boolean;
  readonly planted: readonly string[];
  readonly permitted: readonly string[];
  readonly exceptions: Readonly<Record<string, string>>;
}

const hasMatch =
  (...patterns: readonly RegExp[]) =>
  (text: string): boolean =>
    patterns.some((pattern) => pattern.test(text));

/** True if a node or one inside it fulfils a condition; functions inside it are left out if `own` is set. */
function some(node: ts.Node, isWanted: (node: ts.Node) => boolean, own = false): boolean {
  return (
    ts.forEachChild(node, (inner) => {
      if (own && ts.isFunctionLike(inner)) return false;
      return isWanted(inner) || some(inner, isWanted, own);
    }) ?? false
  );
}

/**
 * True if an error does not end the loop. A loop over given items handles the error of one item, so it counts only if it waits before it goes
 * on, or leaves with the first result.
 */
function isRetryLoop(loop: ts.Node): boolean {
  if (!ts.isIterationStatement(loop, false)) return false;
  const isOverItems = ts.isForOfStatement(loop) || ts.isForInStatement(loop);
  const isPause = (node: ts.Node) => ts.isCallExpression(node) && /sleep|setTimeout/.test(node.expression.getText());
  const leaves = (node: ts.Node) =>
    ts.isReturnStatement(node) && node.expression !== undefined && some(node, ts.isAwaitExpression);
  const isAttempt = (node: ts.Node): boolean => {
    if (!ts.isTryStatement(node) || node.catchClause === undefined) return false;
    return !isOverItems || some(node.catchClause, isPause, true) || some(node.tryBlock, leaves, true);
  };
  return some(loop.statement, isAttempt, true) || isAttempt(loop.statement);
}

const hasRetryLoop = (text: string): boolean =>
  some(ts.createSourceFile('module.ts', text, ts.ScriptTarget.Latest, true), isRetryLoop);

const mechanisms: Readonly<Record<string, Mechanism>> = {
  'leases of rows': {
    home: 'platform/db/leased-rows.ts',
    // An end of a claim as a column, in SQL and in the description of a table, and the number of a claim.
    isIn: hasMatch(
      /\b(?:lease|leased|claim|claimed|lock|locked|reserved|held)_(?:until|expiry|expires(?:_at)?)\b/,
      /\b(?:lease|leased|claim|claimed|lock|locked|reserved|held)(?:Until|Expiry|Expires(?:At)?): (?:nullable\()?(?:instant|epoch)\b/,
      /\bfence \+ 1\b/,
    ),
    planted: [
      "where('lease_until', '<=', now)",
      'update({ locked_until: until })',
      'set claim_expires_at = ?',
      'leaseUntil: nullable(instant),',
      'claimedUntil: epoch,',
      "fence: knex.raw('fence + 1')",
    ],
    permitted: [
      'const { leaseUntil } = row;',
      'readonly leaseUntil: Instant | null;',
      'leaseUntil: null,',
      '...leaseColumns,',
      'isFree(now)',
      "where('expires_at', '<', now)",
    ],
    exceptions: {
      'features/installation/idempotency/store.ts':
        'a claim and the insertion of its row are one statement, and its columns are those of the schema',
    },
  },
  retries: {
    home: 'platform/runtime/retry.ts',
    isIn: hasRetryLoop,
    planted: [
      'for (;;) { try { return await act(); } catch { await sleep(1); } }',
      'for (let n = 0; n < 3; n++) try { await act(); break; } catch (error) { if (n === 2) throw error; }',
      'while (true) { const a = 1; try { act(); } catch (error) { if (!isConflict(error)) throw error; } }',
      'do { try { done = await act(); } catch { n += 1; } } while (!done);',
      'for (const pause of pauses) { try { await act(); } catch { await sleep(pause); } }',
      'for (const url of urls) { try { return await ask(url); } catch {} }',
      'const a = async () => { for (;;) { if (b) { try { await act(); } catch {} } } };',
    ],
    permitted: [
      'for (const one of all) { try { await act(one); } catch (error) { failed.push(error); } }',
      'for (;;) { try { await act(); } finally { end(); } }',
      'for (;;) { later(async () => { try { await act(); } catch {} }); }',
      'try { for (;;) await act(); } catch {}',
      'return retry(act, isConflict);',
    ],
    exceptions: {},
  },
  'shared runs': {
    home: 'platform/runtime/single-flight.ts',
    // A promise that is kept until it is settled, in a variable or by key.
    isIn: hasMatch(
      /\?\?=?[^;]*\.finally\(/,
      /\bMap<[^<>;]*(?:, |\()Promise</,
      /(\w+)\??: Promise<[^;=]*\| undefined;[\s\S]*\b\1 \?\?=/,
    ),
    planted: [
      'const a = running.get(key) ?? make().finally(() => running.delete(key));',
      'this.#running ??= this.#make()\n  .finally(() => {\n    this.#running = undefined;\n  });',
      'const running = new Map<string, Promise<Key>>();',
      'let running: Promise<void> | undefined;\nconst a = () => {\n  running ??= make();\n};',
      '#running: Promise<void> | undefined;\na() { this.#running ??= this.#make(); }',
    ],
    permitted: [
      'return share(() => make(), key);',
      'await act().finally(() => end());',
      'const a = b ?? c;\nawait act().finally(() => end());',
      'readonly running: Set<Promise<void>>;',
      'let running: Promise<void> | undefined;\nrunning = make();',
    ],
    exceptions: {
      'platform/runtime/lazy.ts': 'keeps its result for ever',
      'platform/db/sqlite-writer.ts':
        'is reset in the step that finds its queue empty, or a later unit would not be run',
      'features/installation/jobs/executor.ts': 'another run of a job is refused, not shared',
    },
  },
  batches: {
    home: 'platform/db/batch.ts',
    // Calls that wait together for a later turn of the event loop, each with the functions that settle its promise.
    isIn: (text) =>
      /\b(?:setImmediate|queueMicrotask|nextTick)\(/.test(text) && /\.push\(\{[^}]*\bresolve\b/.test(text),
    planted: [
      'queue.push({ item, resolve, reject });\nsetImmediate(start);',
      'this.#waiting.push({ item, reject, resolve });\nqueueMicrotask(() => this.#start());',
      'process.nextTick(start);\nqueue.push({\n  item,\n  resolve,\n});',
    ],
    permitted: [
      'return createBatcher(run, { max: 100, atOnce: 2 });',
      'setImmediate(() => resolve());',
      'queue.push({ item, resolve, reject });\nstart();',
    ],
    exceptions: {
      'platform/db/shared-read.ts':
        'reads of callers that are gone leave the queue, and all of them when a statement is slow',
    },
  },
  'queues and quotas': {
    home: 'platform/admission/fair-semaphore.ts',
    // Amounts per owner, and callers that wait.
    isIn: hasMatch(/\bimport \{ Tally \}/, /\binterface Waiting\b/),
    planted: [
      "import { Tally } from '../admission/tally.js';",
      'interface Waiting {\n  readonly enter: () => void;\n}',
    ],
    permitted: ["import { Quota } from '../admission/quota.js';", 'interface WaitingLine {'],
    exceptions: {
      'platform/admission/quota.ts': 'never waits',
      'platform/jobs/leased-queue.ts': 'counts running attempts; the claim limits them',
      'features/events/realtime/index.ts': 'a socket counts for an installation, a project, an address and a user',
      'features/events/realtime/sockets/backlog.ts': 'closes readers instead of refusing callers',
      'platform/db/batch.ts': 'collects calls, and limits none',
      'platform/db/shared-read.ts': 'collects reads, which wait for slots afterwards',
      'platform/db/sqlite-writer.ts': 'the queue of the one writer, which takes several units at once',
      'platform/db/waiting-line.ts': 'entries of the queue of that writer',
    },
  },
};

const texts = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .sort()
  .map((path) => ({ path, text: readFileSync(join(root, 'src', path), 'utf8') }));

for (const [name, { home, isIn, planted, permitted, exceptions }] of Object.entries(mechanisms)) {
  test(`${name} have one implementation`, () => {
    for (const text of planted) assert.ok(isIn(text), text);
    for (const text of permitted) assert.ok(!isIn(text), text);
    const found = texts.filter(({ text }) => isIn(text)).map(({ path }) => path);
    assert.deepEqual(found, [home, ...Object.keys(exceptions)].sort());
    for (const [path, reason] of Object.entries(exceptions)) assert.ok(reason.length > 10, `${path} has no reason`);
  });
}

/** A budget, the bytes of an attempt, or a limit of bytes that is passed on. */
const handlesBytes = hasMatch(
  /(?<!')\bbudgets?\b(?!')/,
  /\b(?:ResponseBudgets?|ByteAllowance|Allowance|attemptWithin|Measured|answerMaxBytes)\b/,
  /\bbytes\.(?:left|counted|limit|require|count)\b/,
  /(?<![.'])\bmaxBytes\b(?!:)/,
);

const plantedBytes = [
  'readAnswer(db, request, (reader) => page(reader, reader.bytes.left));',
  'return request.budget.read((bytes) => look(bytes));',
  'const look = await lists.page(snapshot, listing, request, maxBytes);',
  'function page(reader: Reader, bytes: ByteAllowance) {}',
  'return { project, actor, budget };',
  'const budgets = new ResponseBudgets(clock, size);',
];

const permittedBytes = [
  'const { total, rows } = await lists.page(snapshot, listing, request);',
  'return { project, actor, ...readFactsOf(request) };',
  "bound: 'budget',",
  'http.request({ url, timeoutMs, maxBytes: limits.answerBytes });',
  "project.settings['files.maxBytes']",
];

const featuresWithBytes: Readonly<Record<string, string>> = {
  'data/documents/changes/index.ts': 'refuses documents that are longer than an answer may be',
  'data/documents/changes/writes.ts': 'claims the bytes of an answer before its change is committed',
  'data/documents/index.ts': 'the longest document is as long as an answer may be',
  'data/documents/query/page.ts': 'SQL that prints a page only up to a number of bytes',
  'data/documents/query/slots.ts': 'the bytes up to which SQL prints a page',
  'data/documents/reads/reads.ts': 'the edge of documents: reads them within the budget',
  'data/documents/relations/answers.ts': 'a change is not refused because its answer is too large',
  'data/documents/relations/link-reads.ts': 'SQL that prints related documents only up to a number of bytes',
  'data/documents/relations/populate.ts': 'measures related documents before it prints them several times',
  'data/documents/store/store.ts': 'SQL that prints a document only up to a number of bytes',
  'data/documents/transfer/index.ts': 'the operator at the command line has no request',
  'data/files/content/writer.ts': 'the size of a file, not of a response',
  'data/files/uploads/chunks.ts': 'the size of unfinished uploads, not of a response',
  'data/transactions/replay.ts': 'reads in a unit of work, which cannot wait for bytes',
  'data/transactions/service.ts': 'the edge of transactions: waits for bytes before the unit of work starts',
  'events/feed/service.ts': 'a page has as many events as fit',
  'events/feed/store.ts': 'SQL that prints events only up to a number of bytes',
  'events/feed/stream.ts': 'streams have a budget of their own for each page',
  'events/realtime/index.ts': 'sockets have a budget of their own',
  'events/realtime/sockets/hub.ts': 'sockets have a budget of their own for each page',
  'installation/projects/index.ts': 'counts platforms, which are few and read without a list query',
};

test('features leave the bytes of responses to their readers', () => {
  for (const text of plantedBytes) assert.ok(handlesBytes(text), text);
  for (const text of permittedBytes) assert.ok(!handlesBytes(text), text);
  const found = texts.flatMap(({ path, text }) => {
    const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    return path.startsWith('features/') && handlesBytes(code) ? [path.slice('features/'.length)] : [];
  });
  assert.deepEqual(found, Object.keys(featuresWithBytes));
});

// A value longer than a text can be in this process: the read fails, the process and its other reads go on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseError } from '#src/platform/db/database-error.js';
import { startAppliance } from '../harness/appliance.js';

const target = await startAppliance();
const { db, sql } = target.appliance.runtime;

/** V8 has no text of half a gibibyte; SQLite is told to make none of more than 256 MiB. */
const tooLong =
  sql.dialect === 'sqlite' ? 'select hex(zeroblob(150000000)) as text' : "select repeat('a', 540000000) as text";

test('a value that is too long fails its own read only', async () => {
  const readTwenty = () => Array.from({ length: 20 }, () => db.one(sql.text('select 1 as one', [])));
  // The long value keeps the process busy for seconds, in which a connection that is just being made would be given up.
  await Promise.all(readTwenty());
  const beside = readTwenty();
  await assert.rejects(db.one(sql.text(tooLong, [])), (error) => {
    assert.ok(error instanceof DatabaseError, String(error));
    // On a busy machine the statement may reach its time limit before the value has arrived.
    const kinds = sql.dialect === 'sqlite' ? ['tooLong'] : ['unavailable', 'timeout'];
    assert.ok(kinds.includes(error.kind), error.kind);
    return true;
  });
  assert.deepEqual(
    (await Promise.all(beside)).map((row) => Number(row?.one)),
    beside.map(() => 1),
  );
  assert.equal(Number((await db.one(sql.text('select 2 as two', [])))?.two), 2, 'reads go on');
});

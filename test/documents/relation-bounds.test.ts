// The bounds of relationships that only thousands of documents reach: how many a read returns, and how many a value or a deletion lets go.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { relationLimits } from '#src/contract/limits.js';
import { startAppliance } from '../harness/appliance.js';
import { runSql } from '../harness/database.js';
import { fill } from './filled.js';
import { aBackend, queryString } from './setup.js';

const target = await startAppliance();
const { key, collection } = await aBackend(target);
const { runtime, features } = target.appliance;
const sql = (text: string) => runSql(target, text);

const parents = await collection({ attributes: { name: { type: 'string', size: 9 } } });
const children = await collection({ attributes: { name: { type: 'string', size: 9 } } });
const both = { relatedCollectionId: children.id, type: 'oneToMany', twoWay: true, key: 'kids', twoWayKey: 'mom' };
(await key.post(`${parents.attributes}/relationship`, { ...both, onDelete: 'setNull' })).expect(202);
for (const { documents } of [parents, children])
  (await key.post(documents, { documentId: 'i0', data: {} })).expect(201);
await fill(sql, runtime.sql.dialect, children.id, relationLimits.unlinked, {});

const all = (await features.databases.describedCollections(runtime.db, target.project.id)) ?? [];
const numberOf = (id: string) => all.find((one) => one.id === id)?.number;
const mom = all.find((one) => one.id === children.id)?.relations[0];
const links = `l_${mom?.link.collection}_${mom?.link.attribute}`;
const shown = `a_${mom?.number}`;

/** Relates the first children to the parent, as requests would by the thousand. */
async function relate(count: number): Promise<void> {
  const table = `d_${numberOf(children.id)}`;
  const chosen = `select id from ${table} order by seq limit ${count}`;
  await sql(`delete from ${links}`);
  await sql(`insert into ${links} (parent, child) select 'i0', id from (${chosen}) as chosen`);
  await sql(`update ${table} set ${shown} = case when id in (${chosen}) then 'i0' end`);
}

const parent = `${parents.documents}/i0`;

test('a read returns a limited number of related documents for each relationship and level, and reports how many are too many', async () => {
  await relate(relationLimits.read);
  const { body } = (await key.get(`${parent}?populate[0]=kids`)).expect(200);
  assert.equal((body.kids as unknown[]).length, relationLimits.read);
  await relate(relationLimits.read + 1);
  const select = queryString([{ method: 'select', values: ['kids.name'] }]);
  for (const path of [`${parent}?populate[0]=kids`, `${parents.documents}?populate[0]=kids`, `${parent}${select}`]) {
    const refusal = (await key.get(path)).refused(400, 'general_query_limit_exceeded');
    assert.match(String(refusal.body.message), /More than 5000 documents are related by kids/);
  }
  assert.equal((await key.get(parent)).expect(200).body.$id, 'i0');
});

test('a value or a deletion unlinks a limited number of related documents; beyond it they are changed from their side', async () => {
  await relate(relationLimits.unlinked + 1);
  const value = (await key.patch(parent, { data: { kids: [] } })).refused(400, 'relationship_value_invalid');
  assert.match(String(value.body.message), /"kids" has too many documents to replace them/);
  const deletion = (await key.delete(parent)).refused(400, 'general_bad_request');
  assert.match(String(deletion.body.message), /unlink more than 10000 related documents/);
  (await key.patch(`${children.documents}/i7`, { data: { mom: null } })).expect(200);
  (await key.delete(parent)).expect(204);
  const left = queryString([{ method: 'isNotNull', attribute: 'mom' }]);
  assert.equal((await key.get(children.documents + left)).expect(200).body.total, 0);
});

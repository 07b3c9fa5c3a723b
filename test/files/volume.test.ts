// The volume of the files falls away under a running server: nothing is stored in a directory that is hidden when it comes back.

import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { aFileBackend, someBytes, upload } from './setup.js';

const ways = [
  ['is gone', () => {}, () => {}],
  ['is another, as the place of a volume that is not mounted', mkdirSync, rmdirSync],
] as const;
for (const [name, replace, clear] of ways) {
  test(`the directory of the files ${name}: uploads are refused until it is back, and it has all that was acknowledged`, async () => {
    const target = await startAppliance();
    const { key, bucket } = await aFileBackend(target);
    const files = await bucket();
    const sent = someBytes(50_000);
    const before = (await upload(key, files, sent)).expect(201).string('$id');
    const directory = join(target.appliance.runtime.config.dataDir, 'files');
    renameSync(directory, `${directory}.away`);
    replace(directory);
    for (let count = 0; count < 3; count++) (await upload(key, files, sent)).refused(503, 'general_unavailable');
    assert.equal(target.log().match(/"event":"files\.write-failed","code":"ESTALE"/g)?.length, 1);
    for (let count = 0; count < 3; count++)
      (await key.get(`${files}/${before}/download`)).refused(503, 'general_unavailable');
    assert.equal(target.log().match(/"event":"files\.read-failed","code":"ESTALE"/g)?.length, 1);
    assert.doesNotMatch(target.log(), /files\.bytes-missing/);
    clear(directory);
    renameSync(`${directory}.away`, directory);
    const after = (await upload(key, files, sent)).expect(201).string('$id');
    for (const id of [before, after]) (await key.get(`${files}/${id}/download`)).expect(200);
  });
}

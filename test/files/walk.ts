// What a walk through every operation asks for of buckets and files, in an order in which each succeeds.
import sharp from 'sharp';
import type { Step } from '../contract/openapi-walks.js';
import type { TestAppliance } from '../harness/appliance.js';
import type { Client } from '../harness/client.js';
import { aFileBackend, formOf, upload } from './setup.js';

const bucket = '/storage/buckets/pictures';
const file = `${bucket}/files/one`;

/** The steps; what they ask for by ids that the service makes is made before. */
export async function fileWalk(target: TestAppliance): Promise<Step[]> {
  const { key, bucket: another } = await aFileBackend(target);
  const files = await another({ bucketId: 'tokens' });
  (await upload(key, files, 'text', { fileId: 'one' })).expect(201);
  const ofFile = `/tokens${files.replace('/storage', '')}/one`;
  const token = (await key.post(ofFile, {})).expect(201).string('$id');
  const picture = await sharp({ create: { width: 2, height: 2, channels: 3, background: '#204060' } })
    .png()
    .toBuffer();
  const form = await formOf(picture, { fileId: 'one', name: 'one.png' });
  const uploader: Client = {
    ...key,
    request: (method, path, body) => key.request(method, path, body, { 'Content-Type': form.type }),
  };
  return [
    ['buckets_create', 'POST', '/storage/buckets', { bucketId: 'pictures', name: 'Pictures' }, key],
    ['buckets_list', 'GET', '/storage/buckets', undefined, key],
    ['buckets_get', 'GET', bucket, undefined, key],
    ['buckets_update', 'PUT', bucket, { name: 'Photos' }, key],
    ['files_create', 'POST', `${bucket}/files`, form.bytes, uploader],
    ['files_list', 'GET', `${bucket}/files`, undefined, key],
    ['files_get', 'GET', file, undefined, key],
    ['files_update', 'PUT', file, { name: 'two.png' }, key],
    ['files_download', 'GET', `${file}/download`, undefined, key],
    ['files_view', 'GET', `${file}/view`, undefined, key],
    ['files_preview', 'GET', `${file}/preview?width=1`, undefined, key],
    ['files_delete', 'DELETE', file, undefined, key],
    ['buckets_delete', 'DELETE', bucket, undefined, key],
    ['tokens_createFileToken', 'POST', ofFile, {}, key],
    ['tokens_list', 'GET', ofFile, undefined, key],
    ['tokens_get', 'GET', `/tokens/${token}`, undefined, key],
    ['tokens_update', 'PATCH', `/tokens/${token}`, { expire: null }, key],
    ['tokens_delete', 'DELETE', `/tokens/${token}`, undefined, key],
  ];
}

import type { Audience } from '#src/contract/events.js';
import type { Bucket } from '../buckets/index.js';
import { creatingUser } from './access.js';
import type { FileRow } from './store.js';
import { toFile } from './view.js';

/** What is recorded of a file; its event carries the file as REST prints it. */
export function recordOf(bucket: Pick<Bucket, 'id' | 'key'>, file: FileRow) {
  const creator = creatingUser(file.creator);
  const audience: Audience = { bucket: bucket.key, ...(creator === undefined ? {} : { creator }) };
  return {
    resource: `buckets/${bucket.id}/files/${file.id}`,
    payload: { size: file.sizeOriginal, mimeType: file.mimeType },
    announce: JSON.stringify(toFile(bucket, file)),
    audience,
  };
}

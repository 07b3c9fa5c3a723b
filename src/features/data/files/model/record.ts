import type { Audience } from '#src/contract/events.js';
import type { Bucket } from '../../buckets/index.js';
import { creatingUser } from './access.js';
import type { FileRow } from './store.js';
import { toFile } from './view.js';

/** Event record of a file. The announced data is the file in its wire format. */
export function fileRecordOf(bucket: Pick<Bucket, 'id' | 'key'>, file: FileRow) {
  const creator = creatingUser(file.creator);
  const audience: Audience = { bucket: bucket.key, ...(creator === undefined ? {} : { creator }) };
  return {
    resource: `buckets/${bucket.id}/files/${file.id}`,
    payload: { size: file.sizeOriginal, mimeType: file.mimeType },
    announce: JSON.stringify(toFile(bucket, file)),
    audience,
  };
}

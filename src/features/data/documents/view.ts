import { RawJson } from '#src/contract/raw-json.js';
import { etagOf } from '#src/platform/etag.js';
import type { PrintedPage, StoredDocument } from './document.js';
import { printDocument } from './serializer.js';

/** A document on the wire. */
export function documentReply(document: StoredDocument): RawJson {
  const parts = printDocument(document);
  return new RawJson(parts, undefined, etagOf(parts));
}

/** A part of a document, which has no entity tag. */
export function selectionReply(document: StoredDocument): RawJson {
  return new RawJson(printDocument(document));
}

/** A page of documents on the wire. */
export function pageReply({ total, documents }: PrintedPage): RawJson {
  return new RawJson([`{"total":${total},"documents":[`, documents, ']}']);
}

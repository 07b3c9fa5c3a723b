import { RawJson } from '#src/contract/raw-json.js';
import type { PrintedPage, StoredDocument } from './document.js';
import { printDocument } from './serializer.js';

/** A document on the wire. */
export function documentReply(document: StoredDocument): RawJson {
  return new RawJson(printDocument(document));
}

/** A page of documents on the wire. */
export function pageReply({ total, documents }: PrintedPage): RawJson {
  return new RawJson([`{"total":${total},"documents":[`, documents, ']}']);
}

import { RawJson } from '#src/contract/raw-json.js';
import { etagOf } from '#src/platform/text/etag.js';
import type { PrintedPage, StoredDocument } from './document.js';
import { printDocument } from './serializer.js';

/** A document on the wire. */
export function documentReply(document: StoredDocument): RawJson {
  const parts = printDocument(document);
  return new RawJson(parts, undefined, document.etag ?? etagOf(parts));
}

/** A part of a document, which has no entity tag. */
export function selectionReply(document: StoredDocument): RawJson {
  return new RawJson(printDocument(document));
}

/** A page of documents on the wire. */
export function pageReply({ total, documents }: PrintedPage): RawJson {
  return new RawJson([`{"total":${total},"documents":[`, documents, ']}']);
}

/** Removes the attributes of all documents from an answer. Other members of documents have names that begin with `$`. */
export function withoutAttributesReply({ text, status, etag }: RawJson): RawJson {
  const shown = (document: object) =>
    Object.fromEntries(Object.entries(document).filter(([name]) => name.startsWith('$')));
  const answer = JSON.parse(text);
  const isPage = answer.$id === undefined;
  const left = JSON.stringify(isPage ? { ...answer, documents: answer.documents.map(shown) } : shown(answer));
  return new RawJson(left, status, etag && etagOf([left]));
}

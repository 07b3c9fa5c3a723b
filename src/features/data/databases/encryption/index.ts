import type { SealedAad } from '#src/platform/crypto/sealing.js';
import { attributeColumn } from '#src/platform/db/collection-ddl.js';
import { documentTable } from '#src/platform/db/collection-tables.js';
import type { Runtime } from '#src/platform/index.js';

/** Seals values of the encrypted attributes of a collection with the data key of its project, each for its document and attribute. */
export interface AttributeSeal {
  /** The numbers of the encrypted attributes, by key. */
  readonly numbers: ReadonlyMap<string, number>;
  /** Matches their members in printed documents, and `$id`: key and value, which is a string. */
  readonly members: RegExp;
  /** Seals a value, given as JSON. */
  close(document: string, attribute: number, value: string): string;
  /** Returns the JSON of a sealed value; undefined, and logged, if it does not open. */
  open(document: string, attribute: number, sealed: string): string | undefined;
  /** Seals a text that contains values of documents, for any row. */
  copy(aad: SealedAad, text: string): string;
}

/** A collection, as far as its seal goes. */
interface Sealable {
  readonly projectId: string;
  readonly number: number;
  readonly attributes: readonly { readonly key: string; readonly number: number; readonly encrypt?: boolean }[];
}

/** The seal of a collection; undefined if none of its attributes is encrypted. */
export function attributeSeal(
  sealing: Runtime['sealing'],
  { projectId, number, attributes }: Sealable,
  dataKey: string,
): AttributeSeal | undefined {
  const encrypted = attributes.filter(({ encrypt }) => encrypt);
  if (encrypted.length === 0) return undefined;
  const table = documentTable(number);
  const aadOf = (row: string, attribute: number): SealedAad => ({
    column: { table, column: attributeColumn(attribute) },
    row,
  });
  const keys = ['$id', ...encrypted.map(({ key }) => key)].map((key) => key.replace(/[$.]/g, '\\$&'));
  return {
    numbers: new Map(encrypted.map((attribute) => [attribute.key, attribute.number])),
    // Keys contain no quotes, and in JSON a string before a colon is a key, so nothing within another value matches. The value has no
    // alternatives, which would exhaust the stack if it is long.
    members: new RegExp(`"(${keys.join('|')})":"([^"\\\\]*(?:\\\\.[^"\\\\]*)*)"`, 'g'),
    close: (document, attribute, value) => sealing.seal(projectId, dataKey, aadOf(document, attribute), value),
    open: (document, attribute, sealed) => sealing.tryOpen(projectId, dataKey, aadOf(document, attribute), sealed),
    copy: (aad, text) => sealing.seal(projectId, dataKey, aad, text),
  };
}

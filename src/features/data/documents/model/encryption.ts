import { Failure } from '#src/contract/errors.js';
import type { AttributeSeal, Collection } from '../../databases/index.js';
import type { StoredValues } from './document.js';
import { charactersOf } from './structure.js';

/** Estimates the characters that sealing adds to values, which it prints in base64. */
export function addedBySealing({ seal }: Collection, values: StoredValues): number {
  if (seal === undefined) return 0;
  const sealed = [...seal.numbers.values()].map((number) => [number, values.get(number) ?? null] as const);
  return charactersOf(new Map(sealed)) / 3;
}

/** The values of a row with those of encrypted attributes sealed. */
export function sealedValues(seal: AttributeSeal, id: string, values: StoredValues): StoredValues {
  const sealed = new Map(values);
  for (const number of seal.numbers.values()) {
    const value = values.get(number) ?? null;
    if (value !== null) sealed.set(number, seal.close(id, number, JSON.stringify(value)));
  }
  return sealed;
}

/** The keys of the encrypted attributes that a change sets. */
export function sealedKeys(seal: AttributeSeal, values: StoredValues): string[] {
  return [...seal.numbers].flatMap(([key, number]) => (values.has(number) ? [key] : []));
}

/** Like `sealedValues`, for a change of a row that prints its sealed values as `before`. Values that do not change keep their bytes. */
export function resealedValues(seal: AttributeSeal, id: string, values: StoredValues, before: string): StoredValues {
  const sealed = new Map(sealedValues(seal, id, values));
  for (const [, key = '', kept = ''] of before.matchAll(seal.members)) {
    const number = seal.numbers.get(key);
    const value = number === undefined ? null : (values.get(number) ?? null);
    if (number !== undefined && value !== null && seal.open(id, number, kept) === JSON.stringify(value))
      sealed.set(number, kept);
  }
  return sealed;
}

/** The result for a value that cannot be opened: an error, or null in a deleted document. */
type Unreadable = 'error' | 'null';

/** Replaces sealed values in the printed attributes of a document. Throws Failure if one cannot be opened. */
export function openedData({ seal }: Collection, id: string, data: string, unreadable: Unreadable = 'error'): string {
  return seal === undefined ? data : opened(seal, data, id, unreadable);
}

/** Like `openedData`, for a printed page of documents. */
export function openedPage({ seal }: Collection, documents: string): string {
  return seal === undefined ? documents : opened(seal, documents, '', 'error');
}

function opened(seal: AttributeSeal, text: string, first: string, unreadable: Unreadable): string {
  let id = first;
  return text.replace(seal.members, (member, key: string, value: string) => {
    const number = seal.numbers.get(key);
    if (number === undefined) {
      id = value;
      return member;
    }
    const json = seal.open(id, number, value);
    if (json === undefined && unreadable === 'error') throw damaged(key, id);
    return `"${key}":${json ?? 'null'}`;
  });
}

function damaged(key: string, id: string): Failure {
  return new Failure('general_unavailable', {
    message: `The value of "${key}" in the document "${id}" is damaged in the database.`,
  });
}

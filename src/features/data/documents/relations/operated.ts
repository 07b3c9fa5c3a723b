import { Failure } from '#src/contract/errors.js';
import type { Row } from '#src/platform/db/table.js';
import type { Unit } from '#src/platform/db/unit.js';
import { parseJson } from '#src/platform/text/json.js';
import type { Collection } from '../../databases/index.js';
import { openedData } from '../model/encryption.js';
import { defaultsOf, type Moment, operated, operatorsOf } from '../operators/index.js';
import { absent, requireCurrent, wireNow } from '../store/errors.js';
import type { DocumentStore } from '../store/store.js';

type Data = Readonly<Record<string, unknown>>;

/** The values of some attributes of a document, exactly, from the row as it prints them. */
export function valuesOf(collection: Collection, { id, data }: Row): Data {
  return parseJson(`{${openedData(collection, String(id), String(data))}}`) as Data;
}

/**
 * The data of a change of a document with what its operators make of the values that the document has, which is locked for them until the end
 * of the unit. Throws Failure where the caller may not read it: a refusal, or what it then holds, tells of the value.
 */
export async function operatedDocument(
  unit: Unit,
  store: DocumentStore,
  collection: Collection,
  id: string,
  data: Data,
  { mayRead, room }: { readonly mayRead: boolean; readonly room: number },
): Promise<Data> {
  const operators = operatorsOf(collection, data);
  if (operators.size === 0) return data;
  if (!mayRead) throw new Failure('user_unauthorized');
  const row = await unit.one(store.values(collection, [id], [...operators.keys()]));
  if (row === undefined) throw await absent(unit, store, collection);
  requireCurrent(collection, row.version);
  return operated(data, operators, valuesOf(collection, row), { now: wireNow(unit), room });
}

/** The same for a document that is created: operators begin with the defaults. */
export function operatedNew(collection: Collection, data: Data, moment: Moment): Data {
  return operated(data, operatorsOf(collection, data), defaultsOf(collection), moment);
}

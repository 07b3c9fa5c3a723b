import { Failure } from '#src/contract/errors.js';
import { relationLimits } from '#src/contract/limits.js';
import { permissionList } from '#src/contract/permissions.js';
import { customId, uniqueId } from '#src/contract/shapes.js';
import type { Wording } from '#src/contract/terms.js';
import { type Collection, isToOne, type Relation, shownRelations } from '../../databases/index.js';
import type { DocumentInput } from '../access/service.js';

type Data = Readonly<Record<string, unknown>>;

/** A document to relate to. It is written first if the request contains its data. */
export interface RelationTarget {
  readonly id: string;
  readonly input: DocumentInput | undefined;
  /** True if the request contains its id. The document may exist then. Operators apply to its values, or to the defaults of a new one. */
  readonly isNamed: boolean;
}

/** A relationship and the documents it will have. */
export interface RelationValue {
  readonly relation: Relation;
  readonly targets: readonly RelationTarget[];
}

/** Error for an invalid value of a relationship. */
export function invalidRelation(reason: Wording): Failure {
  return new Failure('relationship_value_invalid', { message: (terms) => `Invalid relationship: ${reason(terms)}` });
}

/** Separates the values of relationships from the data of a document. A relationship to one leaves its id in the data. */
export function takeRelations(
  collection: Collection,
  data: Data,
  newId: () => string,
): { readonly data: Data; readonly relations: readonly RelationValue[] } {
  const shown = shownRelations(collection).filter(({ key }) => Object.hasOwn(data, key) && data[key] !== undefined);
  if (shown.length === 0) return { data, relations: [] };
  const rest: Record<string, unknown> = { ...data };
  const relations = shown.map((relation): RelationValue => {
    const value = data[relation.key];
    delete rest[relation.key];
    if (!isToOne(relation)) return { relation, targets: targetsOf(relation, value, newId) };
    const target = value === null ? undefined : targetOf(relation, value, newId);
    rest[relation.key] = target?.id ?? null;
    return { relation, targets: target === undefined ? [] : [target] };
  });
  return { data: rest, relations };
}

function targetsOf(relation: Relation, value: unknown, newId: () => string): RelationTarget[] {
  const { key } = relation;
  if (value === null) return [];
  if (!Array.isArray(value))
    throw invalidRelation(({ documents }) => `"${key}" takes an array of ids or ${documents}.`);
  if (value.length > relationLimits.linked)
    throw invalidRelation(({ documents }) => `"${key}" takes at most ${relationLimits.linked} ${documents} at once.`);
  const targets = value.map((one: unknown) => targetOf(relation, one, newId));
  if (new Set(targets.map(({ id }) => id)).size < targets.length)
    throw invalidRelation(({ document }) => `"${key}" names a ${document} twice.`);
  return targets;
}

function targetOf({ key }: Relation, value: unknown, newId: () => string): RelationTarget {
  // PHP prints an empty object as an empty list.
  if (Array.isArray(value) && value.length === 0) return nestedOf(key, {}, newId);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return nestedOf(key, value as Data, newId);
  return { id: idOf(key, value), input: undefined, isNamed: true };
}

/** Parses a nested document. Without attributes and permissions it is only linked. */
function nestedOf(key: string, { $id = uniqueId, $permissions, ...data }: Data, newId: () => string): RelationTarget {
  const id = $id === uniqueId ? newId() : idOf(key, $id);
  const given = permissionList.nullish().safeParse($permissions);
  if (!given.success) throw invalidRelation(() => `"${key}" has permissions that are not valid.`);
  const isNamed = $id !== uniqueId;
  const hasNone = $permissions === undefined && Object.keys(data).every((name) => name.startsWith('$'));
  const isLink = isNamed && hasNone;
  return { id, input: isLink ? undefined : { data, permissions: given.data ?? undefined }, isNamed };
}

function idOf(key: string, value: unknown): string {
  const id = customId.safeParse(value);
  if (!id.success)
    throw invalidRelation(({ documents }) => `"${key}" takes ids of ${documents}, or ${documents} as objects.`);
  return id.data;
}

import { Failure } from '#src/contract/errors.js';
import { relationLimits } from '#src/contract/limits.js';
import { permissionList } from '#src/contract/permissions.js';
import { customId, uniqueId } from '#src/contract/shapes.js';
import { type Collection, isToOne, type Relation, shownRelations } from '../../databases/index.js';
import type { DocumentInput } from '../service.js';

type Data = Readonly<Record<string, unknown>>;

/** A document that another is to be related to; it is written first where the request gives what it holds. */
export interface Target {
  readonly id: string;
  readonly input: DocumentInput | undefined;
  /** Whether the request names it, so that it may be there: operators change it then, or begin with the defaults. */
  readonly isNamed: boolean;
}

/** The documents that a relationship is to have. */
export interface RelationValue {
  readonly relation: Relation;
  readonly targets: readonly Target[];
}

/** What is wrong with the value of a relationship. */
export function invalidRelation(message: string): Failure {
  return new Failure('relationship_value_invalid', { message: `Invalid relationship: ${message}` });
}

/** Takes the values of relationships out of what a document is made of: what is left of one to a single document is its id. */
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

/** The relationships that data gives, for the documents that are there to be locked: new ones get an id that none can have. Throws Failure. */
export function knownTargets(collection: Collection, data: Data): readonly RelationValue[] {
  let made = 0;
  return takeRelations(collection, data, () => ` ${made++}`).relations;
}

/** The same for data that may not be valid, which is refused later: none then. */
export function validTargets(collection: Collection, data: Data): readonly RelationValue[] {
  try {
    return knownTargets(collection, data);
  } catch (error) {
    if (error instanceof Failure) return [];
    throw error;
  }
}

function targetsOf(relation: Relation, value: unknown, newId: () => string): Target[] {
  const { key } = relation;
  if (value === null) return [];
  if (!Array.isArray(value)) throw invalidRelation(`"${key}" takes an array of ids or documents.`);
  if (value.length > relationLimits.linked)
    throw invalidRelation(`"${key}" takes at most ${relationLimits.linked} documents at once.`);
  const targets = value.map((one: unknown) => targetOf(relation, one, newId));
  if (new Set(targets.map(({ id }) => id)).size < targets.length)
    throw invalidRelation(`"${key}" names a document twice.`);
  return targets;
}

function targetOf({ key }: Relation, value: unknown, newId: () => string): Target {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return nestedOf(key, value as Data, newId);
  return { id: idOf(key, value), input: undefined, isNamed: true };
}

/** A document of which neither attributes nor permissions are given is only linked. */
function nestedOf(key: string, { $id = uniqueId, $permissions, ...data }: Data, newId: () => string): Target {
  const id = $id === uniqueId ? newId() : idOf(key, $id);
  const given = permissionList.nullish().safeParse($permissions);
  if (!given.success) throw invalidRelation(`"${key}" has permissions that are not valid.`);
  const isNamed = $id !== uniqueId;
  const hasNone = $permissions === undefined && Object.keys(data).every((name) => name.startsWith('$'));
  const isLink = isNamed && hasNone;
  return { id, input: isLink ? undefined : { data, permissions: given.data ?? undefined }, isNamed };
}

function idOf(key: string, value: unknown): string {
  const id = customId.safeParse(value);
  if (!id.success) throw invalidRelation(`"${key}" takes ids of documents, or documents as objects.`);
  return id.data;
}

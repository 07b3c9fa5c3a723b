import { z } from 'zod';
import { hasScope, type WireActor } from '#src/contract/actor.js';
import { type ErrorType, Failure, invalidParam } from '#src/contract/errors.js';
import { parseFields } from '#src/contract/operation.js';
import type { Unit } from '#src/platform/db/unit.js';
import { attributeTypes, typeNames } from '../model/attribute-types.js';
import type { CollectionPath } from '../model/schema.js';
import type { AttributeDraft, AttributeService, IndexDraft, IndexService } from '../model/service.js';
import { attributesApi, newAttributesApi } from './api.js';
import { attributeDraft, indexDraft } from './drafts.js';

/** The type of an attribute by its name, and by that of its path. */
const typesByWord = new Map(typeNames.flatMap((name) => [name, attributeTypes[name].path].map((word) => [word, name])));
const words = [...typesByWord.keys()].join(', ');

/** An attribute that is given with its collection: a type, and what the operation takes that adds an attribute of it. */
export const givenAttribute = z
  .looseObject({
    key: z.string(),
    type: z.string().meta({ description: `One of ${words}` }),
    format: z.string().nullish().meta({ description: 'A type that is a format of `string`, such as email' }),
    required: z.boolean().nullish(),
    signed: z.boolean().nullish().meta({ description: 'Nothing but true: numbers have a sign' }),
  })
  .meta({ id: 'NewAttribute' });
/** An index that is given with its collection, as the operation takes it that adds one. */
export const givenIndex = z.looseObject({ key: z.string(), type: z.string() }).meta({ id: 'NewIndex' });
/** Why such an attribute or index is refused. */
export const givenErrors = [
  'attribute_already_exists',
  'attribute_default_unsupported',
  'attribute_limit_exceeded',
  'attribute_unknown',
  'attribute_value_invalid',
  'general_bad_request',
  'general_feature_unsupported',
  'index_already_exists',
  'index_invalid',
  'index_limit_exceeded',
] as const satisfies readonly ErrorType[];

/** What a collection is to have from its beginning. */
interface GivenSchema {
  readonly attributes: readonly AttributeDraft[];
  readonly indexes: readonly IndexDraft[];
}

interface GivenBody {
  readonly attributes?: readonly z.output<typeof givenAttribute>[] | null | undefined;
  readonly indexes?: readonly z.output<typeof givenIndex>[] | null | undefined;
}

/** Validates attributes and indexes as the operations do that add one. Throws Failure, which names the one that is wrong. */
export async function givenSchema(actor: WireActor, { attributes, indexes }: GivenBody): Promise<GivenSchema> {
  requireScope(actor, 'attributes.write', attributes);
  requireScope(actor, 'indexes.write', indexes);
  const schema: { attributes: AttributeDraft[]; indexes: IndexDraft[] } = { attributes: [], indexes: [] };
  for (const given of attributes ?? [])
    schema.attributes.push(
      await naming('Attribute', given, () => {
        const type = typeOf(given);
        if (given.signed === false)
          throw new Failure('general_feature_unsupported', {
            message: 'Numbers always have a sign. Set "min" to 0 instead.',
          });
        const body = { ...given, required: given.required ?? false };
        return attributeDraft(type, parseFields(newAttributesApi[type].input.body, body));
      }),
    );
  for (const given of indexes ?? [])
    schema.indexes.push(
      await naming('Index', given, () => {
        // The newer SDKs say columns here, and attributes in their documentation.
        const body = { ...given, attributes: given.attributes ?? given.columns };
        return indexDraft(parseFields(attributesApi.createIndex.input.body, body));
      }),
    );
  return schema;
}

/** Adds them to a new collection. Throws Failure, which names the one that cannot be. */
export async function addGiven(
  unit: Unit,
  databases: AttributeService & IndexService,
  path: CollectionPath,
  { attributes, indexes }: GivenSchema,
): Promise<void> {
  if (attributes.length > 0) await databases.createAttributes(unit, path, attributes);
  for (const draft of indexes) await naming('Index', draft, () => databases.createIndex(unit, path, draft));
}

function typeOf({ type, format }: z.output<typeof givenAttribute>) {
  if (type === 'relationship')
    throw new Failure('general_feature_unsupported', {
      message: 'A relationship cannot be given with a new collection. Create it by its own call.',
    });
  const name = typesByWord.get(type === 'string' && format ? format : type);
  if (name === undefined) throw invalidParam('type', `must be one of ${words}`);
  return name;
}

function requireScope(
  actor: WireActor,
  scope: 'attributes.write' | 'indexes.write',
  given: GivenBody['indexes'],
): void {
  if (!given?.length || actor.kind !== 'key' || hasScope(actor, scope)) return;
  throw new Failure('general_unauthorized_scope', { message: `The server key lacks these scopes: ${scope}.` });
}

/** Names the part that an error is about. */
async function naming<T>(
  part: 'Attribute' | 'Index',
  { key }: { readonly key: string },
  act: () => T | Promise<T>,
): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new Failure(error.type, { message: `${part} ${key}: ${error.message}`, cause: error });
  }
}

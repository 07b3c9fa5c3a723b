import { type Collection, isToOne, type Relation, shownAttributes } from '#src/features/index.js';
import { sdl } from './sdl.js';

/** The description of `Document.data` in the general schema. */
const general = '  "The attributes of its collection, and the documents that populate names."\n';

/**
 * The schema of the GraphQL endpoint for a project. Types and fields are the same for all projects; only the description of `Document.data`
 * lists the attributes of the project's collections.
 */
export function sdlOf(collections: readonly Collection[]): string {
  if (collections.length === 0) return sdl;
  const lines = collections.flatMap((collection) => [
    '',
    `${collection.databaseId}/${collection.id}`,
    ...shownAttributes(collection).map((attribute) => `  ${attribute.key}: ${typeOf(attribute)}`),
  ]);
  const said = ['"""', 'The attributes of its collection, and the documents that populate names.', ...lines, '"""'];
  return sdl.replace(general, () => `${said.map((line) => `  ${line}`.trimEnd()).join('\n')}\n`);
}

function typeOf(attribute: Collection['attributes'][number] | Relation): string {
  if ('link' in attribute) return `${attribute.related.id}${isToOne(attribute) ? '' : '[]'}`;
  const { type, array, required } = attribute;
  return `${type}${array ? '[]' : ''}${required ? ', required' : ''}`;
}

import { type DocumentNode, type FieldNode, type FragmentDefinitionNode, Kind, type SelectionSetNode } from 'graphql';

/** Fields with the same response name. Validation guarantees that they select the same data. */
export type SameFields = readonly [FieldNode, ...FieldNode[]];

/** The fragments of a document by name. */
export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** The fragments of a document. */
export function fragmentsOf({ definitions }: DocumentNode): Fragments {
  return new Map(
    definitions.flatMap((definition) =>
      definition.kind === Kind.FRAGMENT_DEFINITION ? [[definition.name.value, definition] as const] : [],
    ),
  );
}

/**
 * Collects the fields of selection sets by response name, in the order of the response (GraphQL specification, "Field Collection"). The
 * document is validated, has no directives, and selects from object types only.
 */
export function selectedFields(
  sets: readonly SelectionSetNode[],
  fragments: Fragments,
): ReadonlyMap<string, SameFields> {
  const fields = new Map<string, [FieldNode, ...FieldNode[]]>();
  const spread = new Set<string>();
  const collect = ({ selections }: SelectionSetNode): void => {
    for (const selection of selections) {
      if (selection.kind === Kind.INLINE_FRAGMENT) collect(selection.selectionSet);
      else if (selection.kind === Kind.FIELD) {
        const name = (selection.alias ?? selection.name).value;
        const same = fields.get(name);
        if (same === undefined) fields.set(name, [selection]);
        else same.push(selection);
      } else if (!spread.has(selection.name.value)) {
        spread.add(selection.name.value);
        const fragment = fragments.get(selection.name.value);
        if (fragment !== undefined) collect(fragment.selectionSet);
      }
    }
  };
  for (const set of sets) collect(set);
  return fields;
}

import {
  BREAK,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  type SelectionSetNode,
  visit,
} from 'graphql';

/** Fields of one response name, of which the first says what is asked. */
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

/** Whether what a document selects is the same for all variables, as no directive makes it depend on them. */
export function isFixed(document: DocumentNode): boolean {
  let hasDirective = false;
  visit(document, {
    Directive: () => {
      hasDirective = true;
      return BREAK;
    },
  });
  return !hasDirective;
}

/**
 * The fields that sets select together, by response name in the order of the answer: "Field Collection" of the GraphQL specification, for a
 * validated document without directives over object types.
 */
export function fieldsOf(sets: readonly SelectionSetNode[], fragments: Fragments): ReadonlyMap<string, SameFields> {
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

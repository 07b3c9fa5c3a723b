import { Failure, invalidParam } from '#src/contract/errors.js';
import { attributeTypes, type Collection, columnKind, InvalidValue } from '../../databases/index.js';
import type { Increment } from '../access/service.js';
import { type Compute, incremented } from '../store/computed.js';

/** Returns how an increment changes its attribute. Throws Failure if the attribute does not exist or is not a single number. */
export function incrementOf(
  collection: Collection,
  { attribute: key, by, bound, down }: Increment,
): { readonly number: number; readonly compute: Compute } {
  const attribute = collection.attributes.find((one) => one.key === key);
  if (attribute === undefined)
    throw new Failure('attribute_not_found', {
      message: (terms) => `There is no ${terms.attribute} "${key}".`,
    });
  const kind = columnKind(attribute);
  if (kind !== 'integer' && kind !== 'double')
    throw new Failure('attribute_type_invalid', {
      message: `"${key}" cannot be incremented: it is not a single number.`,
    });
  const { parse } = attributeTypes[attribute.type];
  for (const [name, value] of [
    ['value', by],
    [down ? 'min' : 'max', bound],
  ] as const) {
    const stored = value === undefined ? undefined : parse(value, {});
    if (stored instanceof InvalidValue) throw invalidParam(name, stored.reason);
  }
  return { number: attribute.number, compute: incremented(attribute, down ? -by : by, bound) };
}

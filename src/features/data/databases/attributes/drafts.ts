import type { AttributeOptions, AttributeTypeName, OptionInput } from '../model/attribute-types.js';
import type { AttributeDraft, IndexDraft } from '../model/service.js';

/** What a request says of a new attribute, whose type it names elsewhere. */
interface GivenAttribute extends OptionInput {
  readonly key: string;
  readonly required: boolean;
  readonly array: boolean;
  readonly encrypt?: boolean | null | undefined;
  readonly default?: unknown;
}

/** What a request says of a new index. */
interface GivenIndex extends Pick<IndexDraft, 'key' | 'type' | 'attributes' | 'lengths'> {
  readonly orders: readonly (string | null)[];
}

/** The attribute that a request describes. */
export function attributeDraft(
  type: AttributeTypeName,
  { key, required, array, encrypt, default: value = null, ...options }: GivenAttribute,
): AttributeDraft {
  const sealed = encrypt === true ? { encrypt } : {};
  return { key, type, required, array, ...sealed, default: value, ...optionsOf(options) };
}

/** The index that a request describes. */
export function indexDraft({ key, type, attributes, orders, lengths = [] }: GivenIndex): IndexDraft {
  return {
    key,
    type,
    attributes,
    orders: orders.slice(0, attributes.length).map((order) => (order?.toUpperCase() === 'DESC' ? 'DESC' : 'ASC')),
    ...(lengths.length === 0 ? {} : { lengths }),
  };
}

/** The bounds of values as they are stored. */
export function optionsOf({ size, min, max, elements }: OptionInput): AttributeOptions {
  return {
    ...(size === undefined ? {} : { size }),
    ...(min === undefined || min === null ? {} : { min: String(min) }),
    ...(max === undefined || max === null ? {} : { max: String(max) }),
    ...(elements === undefined ? {} : { elements }),
  };
}

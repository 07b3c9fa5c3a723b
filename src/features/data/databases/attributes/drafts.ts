import { Failure } from '#src/contract/errors.js';
import type { AttributeOptions, AttributeTypeName, OptionInput } from '../attribute-types.js';
import type { AttributeDraft, IndexDraft } from '../service.js';

/** What a request says of a new attribute, whose type it names elsewhere. */
interface GivenAttribute extends OptionInput {
  readonly key: string;
  readonly required: boolean;
  readonly array: boolean;
  readonly encrypt?: boolean | null | undefined;
  readonly default?: unknown;
}

/** What a request says of a new index. */
interface GivenIndex extends Pick<IndexDraft, 'key' | 'type' | 'attributes'> {
  readonly orders: readonly string[];
}

/** The attribute that a request describes. Throws Failure `general_feature_unsupported`. */
export function attributeDraft(
  type: AttributeTypeName,
  { key, required, array, encrypt, default: value = null, ...options }: GivenAttribute,
): AttributeDraft {
  if (encrypt === true)
    throw new Failure('general_feature_unsupported', { message: 'Single attributes are not encrypted.' });
  return { key, type, required, array, default: value, ...optionsOf(options) };
}

/** The index that a request describes. */
export function indexDraft({ key, type, attributes, orders }: GivenIndex): IndexDraft {
  return {
    key,
    type,
    attributes,
    orders: attributes.map((_, at) => (orders[at]?.toUpperCase() === 'DESC' ? 'DESC' : 'ASC')),
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

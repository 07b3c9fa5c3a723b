import type { z } from 'zod';

type Issue = z.core.$ZodIssue;

/** JSON numbers of a plausible length. */
const numberText = /^-?(?:0|[1-9]\d{0,30})(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?$/;
const truths: Readonly<Record<string, boolean>> = { true: true, 1: true, false: false, 0: false };

/**
 * The value converted to the type of its schema, if only one meaning is possible. Languages such as PHP print an empty object as `[]`, and
 * forms and query strings contain numbers and booleans as text. Undefined if no issue is of this kind.
 */
export function asMeant(value: unknown, issues: readonly Issue[]): unknown {
  const repairs = issues.flatMap((issue) => repairsOf(value, issue) ?? []);
  if (repairs.length === 0) return undefined;
  // The caller's value stays unchanged.
  const root = { value: structuredClone(value) };
  for (const { path, meant } of repairs) {
    const parent = valueAt(root, ['value', ...path.slice(0, -1)]);
    if (path.length === 0) root.value = meant;
    else Reflect.set(parent as object, path.at(-1) as PropertyKey, meant);
  }
  return root.value;
}

/** The value at a path; undefined if there is none. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (at === null || at === undefined ? undefined : Reflect.get(Object(at), key)),
    value,
  );
}

interface Repair {
  readonly path: readonly PropertyKey[];
  readonly meant: unknown;
}

/** Returns undefined if the issue cannot be repaired. For a union it uses the first schema whose issues can all be repaired. */
function repairsOf(value: unknown, issue: Issue): readonly Repair[] | undefined {
  const { path } = issue;
  if (issue.code === 'invalid_union') {
    for (const option of issue.errors) {
      const repairs = option.map((inner) => repairsOf(value, { ...inner, path: [...path, ...inner.path] } as Issue));
      if (repairs.length > 0 && !repairs.includes(undefined)) return repairs.flatMap((some) => some ?? []);
    }
    return undefined;
  }
  const meant = issue.code === 'invalid_type' ? meantBy(valueAt(value, path), issue.expected) : undefined;
  return meant === undefined ? undefined : [{ path, meant }];
}

function meantBy(value: unknown, expected: string): unknown {
  if (Array.isArray(value)) return value.length === 0 && isObjectType(expected) ? {} : undefined;
  if (typeof value !== 'string') return undefined;
  if (expected === 'boolean') return Object.hasOwn(truths, value) ? truths[value] : undefined;
  return ['number', 'int', 'bigint'].includes(expected) && numberText.test(value) ? numberOf(value) : undefined;
}

const isObjectType = (expected: string) => expected === 'object' || expected === 'record';

/** Integers are exact, as in JSON. */
function numberOf(text: string): number | bigint {
  const value = Number(text);
  return /^-?\d+$/.test(text) && !Number.isSafeInteger(value) ? BigInt(text) : value;
}

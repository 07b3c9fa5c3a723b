import { z } from 'zod';
import { queryBounds } from '#src/contract/limits.js';

/** Booleans in query strings. */
export const truthWords = ['true', 'false', '1', '0'] as const;

/** Converts a boolean of a query string. */
export const isTrue = (word: (typeof truthWords)[number]): boolean => word === 'true' || word === '1';

/** The parameters of a list. */
export const listParameters = {
  queries: z
    .array(z.string())
    .default([])
    .meta({ description: 'Queries, each a JSON object with method, attribute and values' }),
  total: z.enum(truthWords).default('true').transform(isTrue).meta({ description: 'false: do not count' }),
};

/** The parameter of a searchable list. */
export const searchParameter = {
  search: z
    .string()
    .max(queryBounds.search)
    .refine((text) => text.isWellFormed() && !text.includes('\0'), 'must not hold NUL characters or lone surrogates')
    .default('')
    .meta({ description: 'Words, all of which must be found' }),
};

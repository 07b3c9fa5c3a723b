import { z } from 'zod';
import { queryBounds } from '#src/contract/limits.js';

/** The parameters of a list. */
export const listParameters = {
  queries: z
    .array(z.string())
    .default([])
    .meta({ description: 'Queries, each a JSON object with method, attribute and values' }),
  total: z
    .enum(['true', 'false'])
    .default('true')
    .transform((word) => word === 'true')
    .meta({ description: 'false: do not count' }),
};

/** The parameter of a list that can be searched. */
export const searchParameter = {
  search: z
    .string()
    .max(queryBounds.search)
    .refine((text) => text.isWellFormed() && !text.includes('\0'), 'must not hold NUL characters or lone surrogates')
    .default('')
    .meta({ description: 'Words, all of which must be found' }),
};

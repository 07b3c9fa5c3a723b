import { z } from 'zod';
import { userLimits } from '#src/contract/limits.js';

/** Labels as a caller gives them, each counted once. */
export const labelList = z
  .array(
    z
      .string()
      .regex(/^[A-Za-z0-9]+$/, 'must be letters A-Z a-z and digits')
      .max(userLimits.labelLength),
  )
  .max(userLimits.labels)
  .transform((labels) => [...new Set(labels)]);

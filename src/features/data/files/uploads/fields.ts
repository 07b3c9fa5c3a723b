import { z } from 'zod';
import { permissionList } from '#src/contract/permissions.js';
import { newId } from '#src/contract/shapes.js';

/** Permissions of a file; null is as none given. */
export const filePermissions = permissionList.nullish().transform((list) => list ?? undefined);

/** Fields of the form with a file. */
export const uploadFields = z.object({
  fileId: newId,
  permissions: z.preprocess((value) => (typeof value === 'string' ? [value] : value), filePermissions),
});

import { z } from 'zod';
import { gravities, type ImageRequest, maxSide } from '#src/platform/images/index.js';

const whole = (min: number, max: number) => z.coerce.number().int().min(min).max(max);
const side = whole(0, maxSide).default(0);
const colour = z.string().regex(/^[0-9a-fA-F]{6}$/, 'must be six hex digits, without #');
const outputs = { jpg: 'jpeg', jpeg: 'jpeg', png: 'png', webp: 'webp', avif: 'avif', gif: 'gif' } as const;
type Output = keyof typeof outputs;

/** Query parameters of a preview. */
export const previewParameters = {
  width: side,
  height: side,
  gravity: z.enum(gravities).default('center'),
  quality: whole(-1, 100).default(-1),
  borderWidth: whole(0, 100).default(0),
  borderColor: colour.default('000000'),
  borderRadius: whole(0, maxSide).default(0),
  opacity: z.coerce.number().min(0).max(1).default(1),
  rotation: whole(-360, 360).default(0),
  background: colour.optional(),
  output: z.enum(Object.keys(outputs) as [Output, ...Output[]]).optional(),
} as const;

/** Converts query parameters to an image request. */
export function imageRequestOf({
  output,
  quality,
  background,
  ...rest
}: z.output<z.ZodObject<typeof previewParameters>>): ImageRequest {
  return {
    ...rest,
    background: background ?? null,
    // The SDKs send -1 for the default quality. No encoder accepts 0.
    quality: quality === -1 ? null : Math.max(1, quality),
    format: output === undefined ? null : outputs[output],
  };
}

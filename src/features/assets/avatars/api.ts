import { z } from 'zod';
import { anyone, declare, file } from '#src/contract/declaration.js';
import { drawingLimits } from '#src/contract/limits.js';
import type { ImageFormat } from '#src/platform/images/index.js';
import { browserNames, cardNames } from './drawings/names.js';

const whole = (min: number, max: number) => z.coerce.number().int().min(min).max(max);
const side = (standard: number) => whole(0, drawingLimits.side).default(standard);
const outputs = { png: 'png', jpg: 'jpeg', jpeg: 'jpeg', webp: 'webp', avif: 'avif', gif: 'gif' } as const;
type Output = keyof typeof outputs;

const encoding = {
  quality: whole(-1, 100).default(-1),
  output: z.enum(Object.keys(outputs) as [Output, ...Output[]]).default('png'),
};
const size = { width: side(drawingLimits.standardSide), height: side(drawingLimits.standardSide) };
const codeOf = (names: Readonly<Record<string, string>>) =>
  z.object({ code: z.preprocess(lower, z.enum(Object.keys(names) as [string, ...string[]])) });
const read = {
  tag: 'avatars',
  method: 'GET',
  access: anyone('avatars.read'),
  limits: { calls: 'data' },
  reply: { status: 200, shape: file, errors: ['storage_invalid_range'] },
} as const;

/** Images that applications show next to names, countries, browsers and cards. */
export const avatarsApi = declare({
  getBrowser: {
    ...read,
    id: 'avatars.getBrowser',
    path: '/avatars/browsers/:code',
    summary: 'A neutral mark of a browser.',
    input: { params: codeOf(browserNames), query: z.object({ ...size, ...encoding }) },
  },
  getCreditCard: {
    ...read,
    id: 'avatars.getCreditCard',
    path: '/avatars/credit-cards/:code',
    summary: 'A neutral mark of a credit card.',
    input: { params: codeOf(cardNames), query: z.object({ ...size, ...encoding }) },
  },
  getFlag: {
    ...read,
    id: 'avatars.getFlag',
    path: '/avatars/flags/:code',
    summary: 'The flag of a country.',
    input: {
      params: z.object({
        code: z.preprocess(lower, z.string().regex(/^[a-z]{2}$/, 'must be a code of ISO 3166-1 with two letters')),
      }),
      query: z.object({ ...size, ...encoding }),
    },
  },
  getInitials: {
    ...read,
    id: 'avatars.getInitials',
    path: '/avatars/initials',
    summary: 'The initials of a name, or of the caller, on a coloured ground.',
    input: {
      query: z.object({
        name: z.string().max(drawingLimits.name).default(''),
        width: side(drawingLimits.initialsSide),
        height: side(drawingLimits.initialsSide),
        background: z
          .string()
          .regex(/^(?:[0-9a-fA-F]{6})?$/, 'must be six hex digits, without #')
          .default(''),
        ...encoding,
      }),
    },
  },
  getQR: {
    ...read,
    id: 'avatars.getQR',
    path: '/avatars/qr',
    summary: 'A QR code of a text.',
    input: {
      query: z.object({
        text: z.string().min(1).max(drawingLimits.qrText),
        size: whole(1, drawingLimits.qrSide).default(drawingLimits.qrStandardSide),
        margin: whole(0, drawingLimits.qrMargin).default(1),
        download: z
          .enum(['true', 'false', '1', '0'])
          .default('false')
          .transform((word) => word === 'true' || word === '1')
          .meta({ description: 'true: for a browser to save' }),
        ...encoding,
      }),
    },
  },
});

/** Converts the query to encoder options. A quality of -1 (sent by the SDKs) means the default; 0 becomes 1, as no encoder accepts 0. */
export function encodingOf({ quality, output }: { readonly quality: number; readonly output: Output }): {
  readonly quality: number | null;
  readonly format: ImageFormat;
} {
  return { quality: quality === -1 ? null : Math.max(1, quality), format: outputs[output] };
}

function lower(value: unknown): unknown {
  return typeof value === 'string' ? value.toLowerCase() : value;
}

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { FileContent } from '#src/contract/file-content.js';
import { drawingLimits } from '#src/contract/limits.js';
import { implement, type RequestFacts } from '#src/contract/operation.js';
import { Lru } from '#src/platform/cache/lru.js';
import type { Drawing, DrawRequest } from '#src/platform/images/index.js';
import type { Runtime } from '#src/platform/index.js';
import { lazy } from '#src/platform/runtime/lazy.js';
import { avatarsApi, encodingOf } from './api.js';
import { drawInitials } from './drawings/initials.js';
import { drawBrowser, drawCard } from './drawings/mark.js';
import { browserNames, cardNames } from './drawings/names.js';
import { drawQR } from './drawings/qr.js';
import { sizeOf } from './drawings/svg.js';

/** Response options of an image. */
interface Shown {
  readonly name: string;
  readonly isInline?: boolean;
  /** True if the image depends on the caller. */
  readonly isPrivate?: boolean;
}

interface Deps extends Pick<Runtime, 'images'> {
  readonly kept: Lru<Buffer>;
}

/** Images of initials, QR codes, flags, browsers and credit cards, drawn on request. */
export function createAvatars({ images }: Pick<Runtime, 'images'>) {
  const flags = lazy(() => import('./drawings/flag.js'));
  const codes = lazy(() => import('#src/platform/images/qr-code.js'));
  const { keptBytes, keptEntries, keptLargest } = drawingLimits;
  const kept = new Lru<Buffer>({ bytes: keptBytes, entries: keptEntries, largest: keptLargest });
  const deps: Deps = { images, kept };
  const operations = implement(avatarsApi, {
    getBrowser: (call) => {
      const size = sizeOf(call.query, 1, drawingLimits.standardSide);
      const { code } = call.params;
      return shown(deps, call, drawBrowser(nameOf(browserNames, code), size), { name: code });
    },
    getCreditCard: (call) => {
      const size = sizeOf(call.query, 1.5, drawingLimits.standardSide);
      const { code } = call.params;
      return shown(deps, call, drawCard(nameOf(cardNames, code), size), { name: code });
    },
    getFlag: async (call) => {
      const { drawFlag } = await flags.get();
      const { code } = call.params;
      return shown(deps, call, drawFlag(code, sizeOf(call.query, 1.5, drawingLimits.standardSide)), { name: code });
    },
    getInitials: (call) => {
      const { actor, query } = call;
      const own = actor.kind === 'user' ? actor.account.name || (actor.account.email ?? '') : '';
      const size = sizeOf(query, 1, drawingLimits.initialsSide);
      const drawing = drawInitials(query.name || own, query.background, size);
      return shown(deps, call, drawing, { name: 'initials', isPrivate: query.name === '' });
    },
    getQR: async (call) => {
      const { qrCode } = await codes.get();
      const { text, size, margin, download } = call.query;
      return shown(deps, call, drawQR(qrCode(text), size, margin), { name: 'qr', isInline: !download });
    },
  });
  return { operations };
}

async function shown(
  deps: Deps,
  call: { readonly request: RequestFacts; readonly query: Parameters<typeof encodingOf>[0] },
  drawing: Drawing,
  { name, isInline = true, isPrivate = false }: Shown,
): Promise<FileContent> {
  const request = { ...drawing, ...encodingOf(call.query) };
  const etag = createHash('sha256').update(JSON.stringify(request)).digest('hex');
  const bytes = await bytesOf(deps, call.request, etag, request);
  return new FileContent({
    size: bytes.length,
    type: `image/${request.format}`,
    name: `${name}.${request.format === 'jpeg' ? 'jpg' : request.format}`,
    etag,
    isInline,
    open: async (start, end) => Readable.from([bytes.subarray(start, end + 1)], { objectMode: false }),
    ...(isPrivate ? {} : { cacheSeconds: drawingLimits.cacheSeconds }),
  });
}

async function bytesOf({ images, kept }: Deps, { reading }: RequestFacts, key: string, request: DrawRequest) {
  const known = kept.get(key);
  if (known !== undefined) return known;
  const { bytes } = await images.draw(reading, request);
  kept.set(key, bytes, bytes.length);
  return bytes;
}

/** The name of a code that the declaration has validated. */
function nameOf(names: Readonly<Record<string, string>>, code: string): string {
  return names[code] ?? code;
}

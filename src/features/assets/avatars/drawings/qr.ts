import type { Drawing } from '#src/platform/images/index.js';
import type { QrCode } from '#src/platform/images/qr-code.js';
import { fitted } from './svg.js';

/** Draws a QR code. `margin` is in modules, `pixels` is the side of the image. */
export function drawQR({ side, path }: QrCode, pixels: number, margin: number): Drawing {
  const [start, whole] = [-margin, side + 2 * margin];
  const square = `x="${start}" y="${start}" width="${whole}" height="${whole}"`;
  const content = `<rect ${square} fill="#ffffff"/><path d="${path}" shape-rendering="crispEdges"/>`;
  return { svg: fitted({ width: pixels, height: pixels }, `${start} ${start} ${whole} ${whole}`, 'meet', content) };
}

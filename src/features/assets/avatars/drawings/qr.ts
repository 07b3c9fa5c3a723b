import encodeQR from 'qr';
import type { Drawing } from '#src/platform/images/index.js';
import { fitted } from './svg.js';

/** Minimum margin that the package adds around a code, in modules. */
const border = 1;

/** Draws a QR code. `margin` is in modules, `pixels` is the side of the image. */
export function drawQR(text: string, pixels: number, margin: number): Drawing {
  const modules = encodeQR(text, 'raw', { ecc: 'medium', border });
  const dark = modules.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
  const [start, side] = [border - margin, modules.length - 2 * border + 2 * margin];
  const square = `x="${start}" y="${start}" width="${side}" height="${side}"`;
  const content = `<rect ${square} fill="#ffffff"/><path d="${dark.join('')}" shape-rendering="crispEdges"/>`;
  return { svg: fitted({ width: pixels, height: pixels }, `${start} ${start} ${side} ${side}`, 'meet', content) };
}

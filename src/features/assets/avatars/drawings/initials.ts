import { createHash } from 'node:crypto';
import type { Drawing } from '#src/platform/images/index.js';
import { type Size, svgOf } from './svg.js';

/** Background colours with enough contrast for white letters. */
const grounds = ['1f6feb', '8250df', 'bf3989', 'cf222e', 'bc4c00', '7d6300', '1a7f37', '0b7a75', '57606a', '3d4ed8'];
/** The scripts of the bundled font. Other scripts would look different on every machine. */
const drawable = /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Nd}]+$/u;

/** The first letters of the first two words. A single word is split at underscores. */
export function initialsOf(name: string): string {
  const words = name.trim().split(/\s+/u);
  const parts = words.length === 1 ? name.split('_') : words;
  return parts
    .flatMap((part) => /[\p{L}\p{N}]/u.exec(part.normalize('NFC'))?.[0] ?? [])
    .slice(0, 2)
    .join('')
    .toUpperCase();
}

/** Draws initials, or a person if the font lacks their letters. The same name always gets the same background colour. */
export function drawInitials(name: string, background: string, { width, height }: Size): Drawing {
  const initials = initialsOf(name);
  const [first = 0] = createHash('sha256').update(name).digest();
  const ground = background || (grounds[first % grounds.length] ?? '');
  const colour = isLight(ground) ? '1f2328' : 'ffffff';
  const shortest = Math.min(width, height);
  const rectangle = `<rect width="${width}" height="${height}" fill="#${ground}"/>`;
  if (drawable.test(initials))
    return { svg: svgOf({ width, height }, rectangle), label: { text: initials, colour, pixels: shortest * 0.42 } };
  const [x, y, unit] = [width / 2, height / 2, shortest / 100];
  const head = `<circle cx="${x}" cy="${y - 14 * unit}" r="${17 * unit}" fill="#${colour}"/>`;
  const body = `<path d="M${x - 30 * unit} ${y + 36 * unit}a${30 * unit} ${28 * unit} 0 0 1 ${60 * unit} 0z" fill="#${colour}"/>`;
  return { svg: svgOf({ width, height }, rectangle + head + body) };
}

/** True if dark letters are easier to read than white ones (relative luminance, WCAG 2). */
function isLight(hex: string): boolean {
  const [r = 0, g = 0, b = 0] = [0, 2, 4].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.36;
}

import * as square from 'country-flag-icons/string/1x1';
import * as wide from 'country-flag-icons/string/3x2';
import { invalidParam } from '#src/contract/errors.js';
import type { Drawing } from '#src/platform/images/index.js';
import { fitted, type Size } from './svg.js';

/** Minimum aspect ratio for a flag in its usual proportions. Narrower images get the square version. */
const wideFrom = 1.25;

/** Draws the flag of a country so that it fills the image. Throws Failure `general_argument_invalid` for a code without a flag. */
export function drawFlag(code: string, size: Size): Drawing {
  const flags: Readonly<Record<string, string>> = size.width / size.height < wideFrom ? square : wide;
  const flag = flags[code.toUpperCase()];
  const [, viewBox, content] = /^<svg [^>]*viewBox="([\d. ]+)"[^>]*>(.*)<\/svg>\s*$/s.exec(flag ?? '') ?? [];
  if (viewBox === undefined || content === undefined) throw invalidParam('code', 'there is no flag of this country.');
  return { svg: fitted(size, viewBox, 'slice', content) };
}

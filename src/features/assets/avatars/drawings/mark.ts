import type { Drawing } from '#src/platform/images/index.js';
import { initialsOf } from './initials.js';
import { fitted, type Size } from './svg.js';

const ink = '57606a';

/** Draws a browser window with the initials of the browser. Logos are not used, as they are trademarks. */
export function drawBrowser(name: string, size: Size): Drawing {
  const [first = '', second = ''] = [...name];
  const initials = initialsOf(name);
  const text = [...initials].length > 1 ? initials : first + second;
  const frame = `<rect x="6" y="6" width="88" height="88" rx="12" fill="#f6f8fa" stroke="#${ink}" stroke-width="4"/>`;
  const bar = `<path d="M6 22h88" stroke="#${ink}" stroke-width="4"/>`;
  const dots = [16, 25, 34].map((x) => `<circle cx="${x}" cy="14" r="2.5" fill="#${ink}"/>`).join('');
  return {
    svg: fitted(size, '0 0 100 100', 'meet', frame + bar + dots),
    label: { text, colour: ink, pixels: Math.min(size.width, size.height) * 0.36 },
  };
}

/** Draws a card with the name of its brand. */
export function drawCard(name: string, size: Size): Drawing {
  const frame = `<rect x="3" y="3" width="144" height="94" rx="10" fill="#f6f8fa" stroke="#${ink}" stroke-width="4"/>`;
  const stripe = `<path d="M3 16h144v14h-144z" fill="#${ink}"/>`;
  const unit = Math.min(size.width / 150, size.height / 100);
  return {
    svg: fitted(size, '0 0 150 100', 'meet', frame + stripe),
    // Ten letters are about six times as wide as they are high.
    label: { text: name, colour: ink, pixels: Math.min(34, 200 / name.length) * unit },
  };
}

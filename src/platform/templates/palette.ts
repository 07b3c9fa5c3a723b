/** Accent colours of a page or an email: for text, borders and focus outlines on the background, and for filled buttons. Each is `#rrggbb`. */
interface Accent {
  readonly text: string;
  readonly fill: string;
  readonly onFill: string;
}

/** Accent colours of a page in light and dark mode. */
interface Palette {
  readonly light: Accent;
  readonly dark: Accent;
}

type Rgb = readonly [number, number, number];

/** Minimum contrast of text (WCAG 2.2, 1.4.3), slightly higher to allow for the rounding of mixed colours. */
const leastContrast = 4.6;
const white: Rgb = [255, 255, 255];
const black: Rgb = [0, 0, 0];
/** Background colours of the text: that of `templates/pages/hosted/layout.html`. */
const cards = { light: white, dark: [30, 34, 40] } as const;
const defaultPalette: Palette = {
  light: { text: '#1d4ed8', fill: '#1d4ed8', onFill: '#ffffff' },
  dark: { text: '#93b4ff', fill: '#93b4ff', onFill: '#10131a' },
};

/** The colour behind the pages and a readable colour of text on it. */
interface Backdrop {
  readonly page: string;
  readonly onPage: string;
}

const defaultBackdrop: Readonly<Record<'light' | 'dark', Rgb>> = { light: [244, 245, 247], dark: [20, 23, 27] };
/** Share of the default dark background in the colour of a project in dark mode. */
const darkShare = 0.85;

/** Backgrounds for the colour of a project, `#rrggbb`: as it is in light mode, and darkened in dark mode. */
export function backdropsOf(color: string | null): Readonly<Record<'light' | 'dark', Backdrop>> {
  const given = color === null ? undefined : parse(color);
  const light = given ?? defaultBackdrop.light;
  const dark = given === undefined ? defaultBackdrop.dark : mix(given, defaultBackdrop.dark, darkShare);
  const backdrop = (rgb: Rgb): Backdrop => ({
    page: print(rgb),
    onPage: print(contrast(rgb, black) >= contrast(rgb, white) ? black : white),
  });
  return { light: backdrop(light), dark: backdrop(dark) };
}

/** Accent colours for the colour of a project, `#rrggbb`. Buttons use it unchanged; text is darkened or lightened until it is readable. */
export function paletteOf(color: string | null): Palette {
  const rgb = color === null ? undefined : parse(color);
  if (rgb === undefined) return defaultPalette;
  const fill = print(rgb);
  const onFill = print(contrast(rgb, white) >= contrast(rgb, black) ? white : black);
  return {
    light: { text: print(readable(rgb, cards.light, black)), fill, onFill },
    dark: { text: print(readable(rgb, cards.dark, white)), fill, onFill },
  };
}

/** Contrast ratio of two colours, `#rrggbb`, from 1 to 21 (WCAG 2.2). */
export function contrastOf(one: string, other: string): number {
  return contrast(parse(one) ?? white, parse(other) ?? white);
}

function readable(color: Rgb, background: Rgb, towards: Rgb): Rgb {
  for (let share = 0; share < 1; share += 0.02) {
    const mixed = mix(color, towards, share);
    if (contrast(mixed, background) >= leastContrast) return mixed;
  }
  return towards;
}

function mix(color: Rgb, towards: Rgb, share: number): Rgb {
  const part = (index: 0 | 1 | 2) => Math.round(color[index] * (1 - share) + towards[index] * share);
  return [part(0), part(1), part(2)];
}

function contrast(one: Rgb, other: Rgb): number {
  const [a, b] = [luminance(one), luminance(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

function luminance([red, green, blue]: Rgb): number {
  const linear = (value: number) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

function parse(color: string): Rgb | undefined {
  const [, red, green, blue] = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(color) ?? [];
  if (red === undefined || green === undefined || blue === undefined) return undefined;
  return [Number.parseInt(red, 16), Number.parseInt(green, 16), Number.parseInt(blue, 16)];
}

function print(color: Rgb): string {
  return `#${color.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}

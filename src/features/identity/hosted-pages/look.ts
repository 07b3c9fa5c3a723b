import type { Project } from '#src/contract/project.js';
import { backdropsOf, paletteOf } from '#src/platform/templates/palette.js';
import { isEntrance, type PageName } from './places.js';

const radii = { none: '0', small: '0.25rem', medium: '0.5rem', large: '0.875rem' } as const;
const fonts = {
  system: 'system-ui, sans-serif',
  rounded: 'ui-rounded, system-ui, sans-serif',
  serif: 'ui-serif, Georgia, serif',
  mono: 'ui-monospace, Menlo, Consolas, monospace',
} as const;
const darkRules = {
  auto: '@media (prefers-color-scheme: dark)',
  light: '@media not all',
  dark: '@media all',
} as const;

/** The branding of a project on a page, as values of its layout. `logo` is the version of the logo, if any. */
export function lookOf(
  name: PageName,
  project: Project,
  logo: string | undefined,
  language: string,
): Readonly<Record<string, string>> {
  const { settings } = project;
  const { light, dark } = paletteOf(settings['pages.color']);
  const backdrops = backdropsOf(settings['pages.background']);
  const intros: Readonly<Record<string, string | null>> = {
    de: settings['pages.intro.de'],
    es: settings['pages.intro.es'],
    fr: settings['pages.intro.fr'],
    pt: settings['pages.intro.pt'],
  };
  const linkOf = (address: string | null) =>
    address === null ? '' : new URL(address.replaceAll('{language}', language)).href;
  return {
    project: settings['pages.name'] ?? project.name,
    logo: logo === undefined ? '' : `logo?${new URLSearchParams({ project: project.id, v: logo })}`,
    intro: isEntrance(name) ? (intros[language] ?? settings['pages.intro'] ?? '') : '',
    terms: linkOf(settings['pages.terms']),
    privacy: linkOf(settings['pages.privacy']),
    radius: radii[settings['pages.radius']],
    font: fonts[settings['pages.font']],
    darkRule: darkRules[settings['pages.theme']],
    lightPage: backdrops.light.page,
    lightOnPage: backdrops.light.onPage,
    darkPage: backdrops.dark.page,
    darkOnPage: backdrops.dark.onPage,
    lightText: light.text,
    lightFill: light.fill,
    lightOnFill: light.onFill,
    darkText: dark.text,
    darkFill: dark.fill,
    darkOnFill: dark.onFill,
  };
}

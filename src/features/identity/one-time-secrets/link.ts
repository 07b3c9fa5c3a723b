import type { Project } from '#src/contract/project.js';
import { toWireInstant } from '#src/contract/shapes.js';
import type { Issued } from './view.js';

/** Adds parameters to the query of a page's URL, before any fragment; the rest stays unchanged. */
export function linkTo(page: URL, parameters: Readonly<Record<string, string>>): string {
  const link = new URL(page);
  // With duplicate names it would depend on the page which value counts.
  for (const name of Object.keys(parameters)) if (link.searchParams.has(name)) link.searchParams.delete(name);
  link.search += `${link.search === '' ? '?' : '&'}${new URLSearchParams(parameters)}`;
  return link.href;
}

/** The URL of a page with the parameters needed to redeem a secret. */
export function redemptionLink(
  page: URL,
  project: Project,
  issued: Pick<Issued, 'userId' | 'secret' | 'expire'>,
): string {
  const { userId, secret, expire } = issued;
  return linkTo(page, { userId, secret, expire: toWireInstant(expire), project: project.id });
}

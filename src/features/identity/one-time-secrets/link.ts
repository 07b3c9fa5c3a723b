import type { Project } from '#src/contract/project.js';
import { toWireInstant } from '#src/contract/shapes.js';
import type { Issued } from './view.js';

/** The address of a page with parameters in its query; whatever else stands there stays as it is. */
export function linkTo(page: URL, parameters: Readonly<Record<string, string>>): string {
  const link = new URL(page);
  // Two members of one name would leave it to the page which one counts.
  for (const name of Object.keys(parameters)) if (link.searchParams.has(name)) link.searchParams.delete(name);
  link.search += `${link.search === '' ? '?' : '&'}${new URLSearchParams(parameters)}`;
  return link.href;
}

/** The address of a page with what it needs to redeem a secret. */
export function redemptionLink(
  page: URL,
  project: Project,
  issued: Pick<Issued, 'userId' | 'secret' | 'expire'>,
): string {
  const { userId, secret, expire } = issued;
  return linkTo(page, { userId, secret, expire: toWireInstant(expire), project: project.id });
}

import type { Project } from '#src/contract/project.js';
import { toWireInstant } from '#src/contract/shapes.js';
import type { Issued } from './view.js';

/** The address of a page with what it needs to redeem a secret; whatever else stands in its query stays as it is. */
export function linkTo(page: URL, project: Project, issued: Issued): string {
  const { userId, secret, expire } = issued;
  const query = new URLSearchParams({ userId, secret, expire: toWireInstant(expire), project: project.id });
  const link = new URL(page);
  // Two members of one name would leave it to the page which one counts.
  for (const name of query.keys()) if (link.searchParams.has(name)) link.searchParams.delete(name);
  link.search += `${link.search === '' ? '?' : '&'}${query}`;
  return link.href;
}

import { deepEqual, equal } from 'node:assert/strict';
import { article, createCollection, documentsPath } from './articles.js';
import { expectStatus, type Maker, make, read } from './maker.js';
import { ownerId, type People } from './people.js';

/**
 * Who may read the documents of a collection: the owner of each by the permission of the document, every user by the permission of each
 * document, or every user by the permission of the collection. The collections are called the same.
 */
export type Audience = 'owner' | 'users' | 'open';

/** Every audience. */
export const audiences: readonly Audience[] = ['owner', 'users', 'open'];

/** Three collections with document security and the same documents: number 0 up to `rows`, each a second younger than the one before. */
export interface Secured {
  readonly rows: number;
  /** How many owners the documents have, in turns, so that each has a hundred; the authors likewise. */
  readonly owners: number;
}

/** Documents of an owner, and matches of an author. */
export const documentsOfOwner = 100;

/** The id of a document by its number. */
export const documentId = (number: number): string => `document${number}`;

/** Makes the collections with document 0 in each, of which `fill.ts` makes the others. */
export async function createSecured(maker: Maker, rows: number): Promise<Secured> {
  const secured = { rows, owners: rows / documentsOfOwner };
  for (const audience of audiences) {
    const permissions = audience === 'open' ? ['read("users")'] : [];
    await createCollection(maker, audience, { permissions, documentSecurity: true });
    const document = { documentId: documentId(0), data: article(0, secured.owners) };
    await make(maker, documentsPath(audience), { ...document, permissions: permissionsOf(secured, audience, 0) });
  }
  return secured;
}

/** Reads some of the documents as they were written, and counts them: what SQL has written has to look as if the service had. */
export async function checkSecured(
  maker: Maker,
  { secured, ownerSessions }: People & { readonly secured: Secured },
  filled: readonly Audience[],
): Promise<void> {
  const keys = Object.keys(article(0));
  for (const audience of filled) {
    const path = documentsPath(audience);
    for (const number of [0, 1, 4711, secured.rows - 1]) {
      const document = await read(maker, `${path}/${documentId(number)}`);
      const expected = { ...article(number, secured.owners), $permissions: permissionsOf(secured, audience, number) };
      const publishedAt = new Date(String(document.publishedAt)).toISOString();
      deepEqual({ ...document, publishedAt }, { ...document, ...expected });
      // With a selection the service prints a document from its columns.
      const selected = await read(
        maker,
        `${path}/${documentId(number)}?${search([{ method: 'select', values: keys }])}`,
      );
      deepEqual(document, { ...selected, ...document });
      deepEqual(selected, { ...document, ...selected });
    }
    const { total } = await read(maker, `${path}?total=exact`);
    equal(total, secured.rows, `documents of ${audience}`);
  }
  if (!filled.includes('owner')) return;
  const headers = { 'X-Service-Project': maker.project, 'X-Service-Session': ownerSessions[1] ?? '' };
  const own = await expectStatus({ method: 'GET', path: documentsPath('owner'), headers }, maker.port, 200);
  equal(own.total, documentsOfOwner, 'documents of an owner');
}

/** Queries as a query string. */
export function search(queries: readonly object[]): string {
  return queries.map((query, at) => `queries%5B${at}%5D=${encodeURIComponent(JSON.stringify(query))}`).join('&');
}

function permissionsOf({ owners }: Secured, audience: Audience, number: number): string[] {
  return [audience === 'users' ? 'read("users")' : `read("user:${ownerId(number % owners)}")`];
}

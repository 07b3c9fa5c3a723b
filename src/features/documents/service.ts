import { Failure } from '#src/contract/errors.js';
import {
  allows,
  defaultPermissions,
  demandOwnRoles,
  expandPermissions,
  type PermissionAction,
  rolesOf,
} from '#src/contract/permissions.js';
import { uniqueId } from '#src/contract/shapes.js';
import { createSharedRead } from '#src/platform/db/batch.js';
import type { Value } from '#src/platform/db/query.js';
import type { Row } from '#src/platform/db/table.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Platform } from '#src/platform/index.js';
import type { Collection } from '../databases/index.js';
import { bind } from '../lists/index.js';
import type { By, Collections, Where } from './collections.js';
import type { CountUpTo } from './query/page.js';
import { createListParser, type DocumentQuery, parseQueries } from './query/parse.js';
import { absent, fitting, SchemaChanged, wireNow } from './refusals.js';
import type { DocumentStore, Visibility } from './store.js';
import { changedValues, documentResource, keysOf, newValues } from './structure.js';

/** What a document is made of or changed to. */
interface DocumentInput {
  readonly data?: Readonly<Record<string, unknown>> | undefined;
  readonly permissions?: readonly string[] | undefined;
}

/** A page of documents, printed, and how many there are in all. */
interface DocumentPage {
  readonly total: number;
  /** The documents as JSON texts, joined by commas. */
  readonly documents: string;
}

/** Documents: read and written as text that the database prints. */
export function createDocuments(
  { db, sql, random, config }: Pick<Platform, 'db' | 'sql' | 'random' | 'config'>,
  collections: Collections,
  store: DocumentStore,
) {
  const unauthorized = () => new Failure('user_unauthorized');
  const grants = ({ actor }: Where, collection: Collection, action: PermissionAction) =>
    actor.kind === 'key' || allows(collection.permissions, action, rolesOf(actor));
  const readable = (where: Where, collection: Collection, permissions: unknown): boolean =>
    grants(where, collection, 'read') ||
    (collection.documentSecurity && allows(JSON.parse(String(permissions)), 'read', rolesOf(where.actor)));
  const visibility = (where: Where, collection: Collection): Visibility => {
    if (grants(where, collection, 'read')) return 'everything';
    if (!collection.documentSecurity) throw unauthorized();
    return rolesOf(where.actor);
  };
  const current = (collection: Collection, version: unknown) => {
    if (Number(version) !== collection.version) throw new SchemaChanged();
  };

  /** Throws unless the caller may change the document, by the collection or by the document itself. */
  const demandRight = async (
    unit: Unit,
    where: Where,
    collection: Collection,
    id: string,
    action: PermissionAction,
  ): Promise<void> => {
    if (grants(where, collection, action)) return;
    if (!collection.documentSecurity) throw unauthorized();
    const row = await unit.one(store.permissions(collection, id));
    if (row === undefined) throw await absent(unit, store, collection);
    current(collection, row.version);
    if (!allows(JSON.parse(String(row.permissions)), action, rolesOf(where.actor))) throw unauthorized();
  };
  /** A document that an update left as it was, for those who may read it: otherwise such an update would be a way to. */
  const unchanged = async (unit: Unit, where: Where, collection: Collection, id: string): Promise<string> => {
    const row = await unit.one(store.byIds(collection, [id]));
    if (row === undefined) throw await absent(unit, store, collection);
    current(collection, row.version);
    if (!readable(where, collection, row.permissions)) throw unauthorized();
    return String(row.document);
  };
  const parseList = createListParser();
  const sharedRead = createSharedRead(db, sql);
  const countUpTo = (asked: DocumentQuery, seen: Visibility, total: 'exact' | boolean): CountUpTo => {
    if (total === false) return 0;
    const unfiltered = asked.conditions.length === 0 && seen === 'everything';
    return total === 'exact' || unfiltered || config.totalLimit === 0 ? 'exact' : config.totalLimit;
  };
  interface Seen {
    readonly visibility: Visibility;
    readonly count: CountUpTo;
  }
  const firstPage = (collection: Collection, asked: DocumentQuery, page: Seen): Promise<Row | undefined> => {
    const shared = store.sharedList(collection, asked, page);
    return shared === undefined ? db.one(store.list(collection, asked, { ...page, cursor: null })) : sharedRead(shared);
  };
  const pageAt = (collection: Collection, asked: DocumentQuery, page: Seen, id: string): Promise<Row | undefined> =>
    db.snapshot(async (reader) => {
      const found = await reader.one(store.cursor(collection, id, asked.orders, page.visibility));
      if (found === undefined) throw new Failure('general_cursor_not_found');
      const cursor: Value[] = Object.keys(found).map((name) => bind(found[name]));
      return reader.one(store.list(collection, asked, { ...page, cursor }));
    });

  return {
    /** A document as JSON text. Throws Failure `document_not_found` also where the caller must not see it. */
    get: (where: Where, id: string, queries: readonly string[] = []): Promise<string> =>
      collections.use(where, async (collection, { lookup }) => {
        const seen = (row: Row | undefined): string => {
          if (row === undefined) throw new Failure('document_not_found');
          current(collection, row.version);
          if (!readable(where, collection, row.permissions)) throw new Failure('document_not_found');
          return String(row.document);
        };
        if (queries.length === 0) return seen(await lookup(id));
        // First of all, as what is wrong with a query tells of the attributes.
        if (!grants(where, collection, 'read')) seen(await lookup(id));
        const { select, ...rest } = parseQueries(queries, collection);
        if (rest.conditions.length > 0 || rest.orders.length > 0 || rest.cursor !== null) {
          throw new Failure('general_query_invalid', {
            message: 'Invalid query: a single document takes select only.',
          });
        }
        return seen(select === null ? await lookup(id) : await db.one(store.selected(collection, id, select)));
      }),
    list: (where: Where, queries: readonly string[], total: 'exact' | boolean): Promise<DocumentPage> =>
      collections.use(where, async (collection) => {
        const visible = visibility(where, collection);
        const asked = parseList(queries, collection);
        const count = countUpTo(asked, visible, total);
        const row =
          asked.cursor === null
            ? await firstPage(collection, asked, { visibility: visible, count })
            : await pageAt(collection, asked, { visibility: visible, count }, asked.cursor.id);
        current(collection, row?.version);
        return { total: Number(row?.total), documents: String(row?.documents ?? '') };
      }),
    create: (where: Where, by: By, id: string, { data = {}, permissions }: DocumentInput): Promise<string> =>
      collections.use(where, async (collection, joined) => {
        if (!grants(where, collection, 'create')) throw unauthorized();
        const granted =
          permissions === undefined ? defaultPermissions(where.actor) : expandPermissions(permissions, 'item');
        if (permissions !== undefined) demandOwnRoles(granted, where.actor);
        const values = newValues(collection, data);
        const newId = id === uniqueId ? random.id() : id;
        return joined.create({ by, document: { id: newId, permissions: granted, values } });
      }),
    update: (where: Where, by: By, id: string, { data, permissions }: DocumentInput): Promise<string> =>
      collections.use(where, async (collection) => {
        if (data === undefined && permissions === undefined) throw new Failure('document_missing_payload');
        const granted = permissions === undefined ? undefined : expandPermissions(permissions, 'item');
        return db.work(by, async (unit) => {
          await demandRight(unit, where, collection, id, 'update');
          const values = changedValues(collection, data ?? {});
          if (granted !== undefined) demandOwnRoles(granted, where.actor);
          const row = await fitting(() =>
            unit.one(store.update(collection, id, { permissions: granted, values, now: wireNow(unit) })),
          );
          if (row === undefined) return unchanged(unit, where, collection, id);
          const payload = { attributes: keysOf(collection, values.keys()), permissions: granted !== undefined };
          unit.record('documentUpdated', {
            resource: documentResource(collection, id),
            payload,
            announce: String(row.document),
          });
          return String(row.document);
        });
      }),
    /** Deletes a document and returns what it was. */
    remove: (where: Where, by: By, id: string): Promise<string> =>
      collections.use(where, (collection) =>
        db.work(by, async (unit) => {
          await demandRight(unit, where, collection, id, 'delete');
          const row = await unit.one(store.remove(collection, id));
          if (row === undefined) throw await absent(unit, store, collection);
          const payload = { attributes: [], permissions: false };
          unit.record('documentDeleted', {
            resource: documentResource(collection, id),
            payload,
            announce: String(row.document),
          });
          return String(row.document);
        }),
      ),
  };
}

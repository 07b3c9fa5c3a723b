// Ids that earlier answers gave, so that requests meet what exists, what existed once, and what belongs to others.
import type { Random } from '../documents/random.js';
import type { DescribedOperation } from './described.js';

/** Values of path parameters that belong together. */
export type Ids = Readonly<Record<string, string>>;

/** An attribute of a collection, as answers print it. */
export type Attribute = Readonly<Record<string, unknown>> & { readonly key: string; readonly type: string };

const mostPerName = 100;

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Creates an empty pool for the operations of a document. */
export function createPool(operations: readonly DescribedOperation[]) {
  const known = new Map<string, Ids[]>();
  const attributes = new Map<string, readonly Attribute[]>();
  const gone: string[] = [];

  /** The parameter below a path: that of `/teams` is `teamId`. The fixed end of a path, as in `/users/bcrypt`, is left out where needed. */
  const childOf = (template: string): string | undefined => {
    for (const parent of [template, template.replace(/\/[^/{}]+$/, '')]) {
      const child = operations.find((one) => one.template.startsWith(`${parent}/{`));
      if (child !== undefined) return /^\{(\w+)\}/.exec(child.template.slice(parent.length + 1))?.[1];
    }
    return undefined;
  };
  const children = new Map(operations.map(({ template }) => [template, childOf(template)]));
  const listOf = (name: string): Ids[] => {
    const list = known.get(name) ?? [];
    known.set(name, list);
    return list;
  };
  const add = (name: string, ids: Ids): void => {
    const list = listOf(name);
    if (list.some((other) => JSON.stringify(other) === JSON.stringify(ids))) return;
    list.push(ids);
    if (list.length > mostPerName) list.shift();
  };
  const remember = (ids: Ids, name: string, entry: unknown): void => {
    if (!isObject(entry)) return;
    const id = entry[name] ?? entry.$id ?? entry.key;
    if (typeof id !== 'string' || id === '') return;
    add(name, { ...ids, [name]: id });
    if (name === 'collectionId' && Array.isArray(entry.attributes))
      attributes.set(`${ids.databaseId}/${id}`, entry.attributes.filter(isObject) as Attribute[]);
  };

  return {
    add,
    /** Takes ids out of what an operation answered; `ids` are those of its path. */
    learn: ({ method, template }: DescribedOperation, ids: Ids, body: unknown): void => {
      const last = /\{(\w+)\}$/.exec(template)?.[1];
      if (method === 'DELETE' && last !== undefined) {
        const list = listOf(last);
        const at = list.findIndex((other) => JSON.stringify(other) === JSON.stringify(ids));
        if (at >= 0) list.splice(at, 1);
        gone.push(ids[last] ?? '');
        if (gone.length > mostPerName) gone.shift();
      }
      if (!isObject(body)) return;
      if (typeof body.userId === 'string' && body.userId !== '') add('userId', { userId: body.userId });
      if (last !== undefined) remember(ids, last, body);
      const child = children.get(template);
      if (child === undefined) return;
      if (method === 'POST') remember(ids, child, body);
      for (const list of Object.values(body))
        if (Array.isArray(list)) for (const entry of list.slice(0, 20)) remember(ids, child, entry);
    },
    /** Takes a collection and its attributes. */
    learnCollection: (ids: Ids, body: unknown): void => remember(ids, 'collectionId', body),
    /** Ids for the parameters of a path, as many of them as anything has that exists. */
    pick: (names: readonly string[], random: Random): Ids => {
      for (let end = names.length; end > 0; end--) {
        const wanted = names.slice(0, end);
        const fitting = listOf(wanted.at(-1) ?? '').filter((ids) => wanted.every((name) => name in ids));
        if (fitting.length > 0) return random.pick(fitting);
      }
      return {};
    },
    /** An id of that name, or of any other where there is none. */
    id: (name: string, random: Random): string | undefined => {
      const list = known.get(name) ?? [];
      return list.length === 0 ? undefined : random.pick(list)[name];
    },
    /** An id of something else: of another kind, or deleted. */
    foreign: (random: Random): string => {
      const lists = [...known.values()].filter((list) => list.length > 0);
      if (lists.length === 0 || (gone.length > 0 && random.chance(0.3))) return gone.at(-1) ?? 'nothing';
      return Object.values(random.pick(random.pick(lists))).at(-1) ?? 'nothing';
    },
    attributesOf: ({ databaseId, collectionId }: Ids): readonly Attribute[] =>
      attributes.get(`${databaseId}/${collectionId}`) ?? [],
    /** How many of a kind are known, so that not everything is created without end. */
    size: (template: string): number => {
      const child = children.get(template);
      return child === undefined ? 0 : (known.get(child)?.length ?? 0);
    },
  };
}

/** Ids that earlier answers gave. */
export type Pool = ReturnType<typeof createPool>;

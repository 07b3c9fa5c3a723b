import { Failure } from '#src/contract/errors.js';
import { relationLimits } from '#src/contract/limits.js';
import { type Collection, isToOne, type Relation, relationOf } from '../../databases/index.js';

/** The attributes and relationships that a read returns of documents. */
export interface Branch {
  /** Keys of attributes; null for all. */
  readonly keys: readonly string[] | null;
  readonly relations: ReadonlyMap<string, Branch>;
}

interface Growing {
  isWhole: boolean;
  readonly keys: Set<string>;
  readonly relations: Map<string, Growing>;
}

const invalid = (message: string) => new Failure('general_query_invalid', { message: `Invalid query: ${message}` });

/**
 * Builds the branch from the paths of a selection, such as `author.*` and `author.name`, and from those of `populate`, such as
 * `author.books`, which contain relationships only. `keys` are the attributes of the documents themselves. Throws Failure
 * `general_query_invalid`.
 */
export function branchOf(
  keys: readonly string[] | null,
  paths: readonly string[],
  populate: readonly string[],
): Branch {
  const root: Growing = { isWhole: keys === null, keys: new Set(keys), relations: new Map() };
  let followed = 0;
  const below = (branch: Growing, key: string): Growing => {
    const before = branch.relations.get(key);
    if (before !== undefined) return before;
    followed += 1;
    if (followed > relationLimits.followed)
      throw invalid(`at most ${relationLimits.followed} relationships can be followed at once.`);
    const made: Growing = { isWhole: false, keys: new Set(), relations: new Map() };
    branch.relations.set(key, made);
    return made;
  };
  const walk = (path: string, names: readonly string[], isPopulated: boolean): Growing => {
    if (names.length > relationLimits.levels)
      throw invalid(`relationships can be followed ${relationLimits.levels} levels deep.`);
    let branch = root;
    for (const name of names) {
      if (name === '') throw invalid(`${path.slice(0, 40)} is no path of relationships.`);
      branch = below(branch, name);
      if (isPopulated) branch.isWhole = true;
    }
    return branch;
  };
  for (const path of paths) {
    // The key of a relationship to many, without a path, selects its documents in full.
    const names = (path.includes('.') ? path : `${path}.*`).split('.');
    const last = names.pop() ?? '';
    const branch = walk(path, names, false);
    if (last === '*') branch.isWhole = true;
    else if (branch.keys.has(last)) throw invalid(`${path.slice(0, 40)} is selected twice.`);
    else branch.keys.add(last);
  }
  for (const path of populate) walk(path, path.replace(/\.\*$/, '').split('.'), true);
  return grown(root);
}

function grown({ isWhole, keys, relations }: Growing): Branch {
  return {
    keys: isWhole ? null : [...keys],
    relations: new Map([...relations].map(([key, below]) => [key, grown(below)])),
  };
}

const systemMembers = ['$id', '$sequence', '$createdAt', '$updatedAt', '$permissions', '$collectionId', '$databaseId'];

/**
 * Returns the attributes that a statement prints for a branch; null for all. A followed relationship replaces the id. Throws Failure if an
 * attribute does not exist.
 */
export function printedKeys(collection: Collection, { keys, relations }: Branch): readonly string[] | null {
  const all = collection.attributes.map(({ key }) => key);
  if (keys === null) {
    const left = all.filter((key) => !relations.has(key));
    return left.length === all.length ? null : left;
  }
  const unknown = keys.find(
    (key) => !systemMembers.includes(key) && !all.includes(key) && relationOf(collection, key) === undefined,
  );
  if (unknown !== undefined) throw invalid(`the collection has no attribute ${unknown.slice(0, 40)}.`);
  return keys.filter((key) => all.includes(key) && !relations.has(key));
}

/**
 * Returns the relationships that a branch follows, including relationships to many that are selected by key alone. Throws Failure if one
 * does not exist.
 */
export function followedOf(collection: Collection, { keys, relations }: Branch): readonly [Relation, Branch][] {
  const plain = (keys ?? []).filter((key) => !relations.has(key));
  const named = plain.flatMap((key): [Relation, Branch][] => {
    const relation = relationOf(collection, key);
    return relation === undefined || isToOne(relation) ? [] : [[relation, { keys: null, relations: new Map() }]];
  });
  const followed = [...relations].map(([key, branch]): [Relation, Branch] => {
    const relation = relationOf(collection, key);
    if (relation === undefined) throw invalid(`the collection has no relationship ${key.slice(0, 40)}.`);
    return [relation, branch];
  });
  return [...followed, ...named];
}

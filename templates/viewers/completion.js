// Completion of what the schema of GraphQL cannot contain, because documents are JSON there: ids of databases and collections, attributes in
// `data` and `populate`, and queries over attributes.

/**
 * Lists what fits at the end of `before`: `{ label, text, detail }`. `typed` is the number of characters before it that the text replaces.
 * `after` is the rest of the document.
 */
export function suggestionsAt(before, after, collections) {
  const start = openBracket(before, '(');
  if (start === undefined) return { typed: 0, suggestions: [] };
  const args = before.slice(start);
  const inString = /"([^"\\\n]*)$/.exec(args);
  const chosen = collectionsOf(args + after.slice(0, endOf(after)), collections);
  const of = (typed, suggestions) => ({ typed, suggestions });
  if (isInString(args) && inString !== null) {
    const opening = args.slice(0, inString.index);
    const typed = inString[1].length;
    if (/\bdatabaseId\s*:\s*$/.test(opening)) return of(typed, databaseIds(collections));
    if (/\bcollectionId\s*:\s*$/.test(opening)) return of(typed, collectionIds(chosen.inDatabase));
    if (/\bqueries\s*:\s*\[[^\]]*$/.test(opening)) return of(typed, queriesOver(chosen.collections));
    if (/\bpopulate\s*:\s*\[[^\]]*$/.test(opening)) return of(typed, relations(chosen.collections));
    return of(0, []);
  }
  const object = openBracket(args, '{');
  if (object === undefined || isInString(args)) return of(0, []);
  const member = /(?:^|[\s,{])([A-Za-z_$]?\w*)$/.exec(args.slice(object));
  const isMember = /\bdata\s*:\s*$/.test(args.slice(0, object - 1)) && member !== null && isName(args.slice(object));
  return isMember ? of(member[1].length, members(chosen.collections)) : of(0, []);
}

/** The position after the last bracket of this kind that is not closed. */
function openBracket(text, bracket) {
  const closing = { '(': ')', '{': '}' }[bracket];
  let depth = 0;
  const plain = withoutStrings(text);
  for (let at = plain.length - 1; at >= 0; at--) {
    if (plain[at] === closing) depth += 1;
    else if (plain[at] === bracket && depth-- === 0) return at + 1;
  }
  return undefined;
}

/** The text with spaces in place of strings and comments, so that positions stay. */
function withoutStrings(text) {
  return text.replace(/"(?:[^"\\\n]|\\.)*"?|#.*/g, (found) => ' '.repeat(found.length));
}

const isInString = (text) =>
  /^(?:[^"\n]|"(?:[^"\\\n]|\\.)*")*"(?:[^"\\\n]|\\.)*$/.test(text.slice(text.lastIndexOf('\n') + 1));

/** The end of the arguments that begin before this text. */
function endOf(text) {
  let depth = 0;
  const plain = withoutStrings(text);
  for (let at = 0; at < plain.length; at++) {
    if (plain[at] === '(') depth += 1;
    else if (plain[at] === ')' && depth-- === 0) return at;
  }
  return text.length;
}

/** True if a member of the object may begin here, and not a value. */
function isName(object) {
  const plain = withoutStrings(object).replace(/[A-Za-z_$]?\w*$/, '');
  return /(?:^|[,}\]])\s*$/.test(plain) || /[\w"]\s*[\n,]\s*$/.test(plain) || /\n\s*$/.test(plain);
}

function collectionsOf(args, collections) {
  const named = (name) => new RegExp(`\\b${name}\\s*:\\s*"([^"\\n]*)"`).exec(args)?.[1];
  const [databaseId, collectionId] = [named('databaseId'), named('collectionId')];
  const inDatabase = collections.filter((one) => databaseId === undefined || one.databaseId === databaseId);
  return { inDatabase, collections: inDatabase.filter(({ id }) => collectionId === undefined || id === collectionId) };
}

function databaseIds(collections) {
  return [...new Set(collections.map(({ databaseId }) => databaseId))].map((id) => ({
    label: id,
    text: id,
    detail: 'database',
  }));
}

const collectionIds = (collections) =>
  collections.map(({ id, databaseId, name }) => ({ label: id, text: id, detail: `${name} in ${databaseId}` }));

const attributesOf = (collections) =>
  collections.flatMap(({ id, attributes }) => attributes.map((one) => ({ ...one, id })));

const members = (collections) =>
  attributesOf(collections).map((attribute) => ({
    label: attribute.key,
    text: `${attribute.key}: `,
    detail: describe(attribute),
  }));

const relations = (collections) =>
  attributesOf(collections)
    .filter(({ type }) => type === 'relationship')
    .map((attribute) => ({ label: attribute.key, text: attribute.key, detail: describe(attribute) }));

/** Queries are JSON inside of strings. */
function queriesOver(collections) {
  const own = attributesOf(collections).flatMap((attribute) => [
    { method: 'equal', attribute: attribute.key, values: [exampleOf(attribute)] },
    { method: 'orderDesc', attribute: attribute.key },
  ]);
  const all = [...own, { method: 'limit', values: [25] }];
  return all.map((query) => ({
    label: [query.method, query.attribute].filter(Boolean).join(' '),
    text: JSON.stringify(JSON.stringify(query)).slice(1, -1),
    detail: 'query',
  }));
}

/** The type of an attribute for people, such as `string, required`. */
export function describe({ type, format, array, required, id }) {
  const words = [`${format || type}${array ? '[]' : ''}`, ...(required ? ['required'] : [])];
  return id === undefined ? words.join(', ') : `${words.join(', ')} · ${id}`;
}

/** A value that the attribute accepts. */
export function exampleOf({ type, format, array, elements, min }) {
  const one = () => {
    if (elements !== undefined) return elements[0];
    if (type === 'boolean') return true;
    if (['integer', 'bigint', 'double', 'float'].includes(type)) return typeof min === 'number' && min > 0 ? min : 1;
    if (type === 'datetime') return '2030-01-31T12:00:00.000Z';
    return { email: 'anna@example.com', url: 'https://example.com', ip: '192.0.2.1' }[format] ?? 'text';
  };
  return array ? [one()] : one();
}

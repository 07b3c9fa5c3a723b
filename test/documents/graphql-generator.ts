// Random GraphQL requests over one collection: aliases, fragments, fields asked twice, several operations, and mistakes.
import { type Arguments, createArguments, createSelections, some } from './graphql-parts.js';
import type { Random } from './random.js';

/** A request; its text has one place where a directive could stand. */
export interface RandomRequest {
  readonly query: string;
  readonly operationName?: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** What the requests are about. */
interface Subject {
  readonly databaseId: string;
  readonly collectionId: string;
  readonly ids: readonly string[];
  readonly data: () => unknown;
}

const directive = '@include(if: true)';
const place = '%'.repeat(directive.length);

/** The request without a directive. */
export const plain = (request: RandomRequest): RandomRequest => ({
  ...request,
  query: request.query.replace(place, ' '.repeat(directive.length)),
});
/** The request with a directive that changes nothing; all the rest stands where it stood. */
export const directed = (request: RandomRequest): RandomRequest => ({
  ...request,
  query: request.query.replace(place, directive),
});

const someQueries = [
  ...[
    { method: 'limit', values: [3] },
    { method: 'orderDesc', attribute: '$id' },
    { method: 'offset', values: [2] },
    { method: 'select', values: ['title', 'tags'] },
    { method: 'select', values: ['$id'] },
    { method: 'isNull', attribute: 'count' },
    { method: 'equal', attribute: 'nothing', values: [1] },
    { method: 'cursorAfter', values: ['nobody'] },
  ].map((query) => JSON.stringify(query)),
  'no query',
];

/** A root field with its arguments, and its type. */
type Call = readonly [text: string, type: string];

/** Calls of a subject, some of which cannot succeed. */
function createCalls(random: Random, { text, texts, variable }: Arguments, subject: Subject) {
  const place = (id: string) => text(random.chance(0.95) ? id : 'none');
  const collection = () => `databaseId: ${place(subject.databaseId)}, collectionId: ${place(subject.collectionId)}`;
  const document = () =>
    `${collection()}, documentId: ${text(random.chance(0.85) ? random.pick(subject.ids) : random.pick(['nobody', '!', '']))}`;
  const populate = () => (random.chance(0.8) ? '' : `, populate: ${texts(random.pick([[], ['author']]))}`);
  const queries = () => `, queries: ${texts(some(random, 2, () => random.pick(someQueries)))}`;
  const permissions = () =>
    random.chance(0.6) ? '' : `, permissions: ${texts(random.pick([[], ['read("any")'], ['none']]))}`;
  const given = () => `${document()}, data: ${variable('JSON!', subject.data())}${permissions()}`;
  const literal = '{title: "literal", tags: ["}", "\\"]"], count: 9223372036854775807}';
  const reads: readonly (() => Call)[] = [
    () => [`documentGet(${document()}${populate()})`, 'Document'],
    () => [`documentList(${collection()}${populate()})`, 'DocumentList'],
    () => [`documentList(${collection()}${queries()})`, 'DocumentList'],
    () => [`collectionList(databaseId: ${place(subject.databaseId)})`, 'CollectionList'],
  ];
  const writes: readonly (() => Call)[] = [
    () => [`documentCreate(${given()})`, 'Document'],
    () => [`documentUpdate(${given()})`, 'Document'],
    () => [`documentUpdate(${document()}, data: ${literal})`, 'Document'],
    () => [`documentDelete(${document()})`, 'Document'],
  ];
  return { query: () => random.pick(reads)(), mutation: () => random.pick(writes)() };
}

/** Makes a request of a kind. */
export function aRequest(random: Random, kind: 'query' | 'mutation', subject: Subject): RandomRequest {
  const given = createArguments(random);
  const { fragments, selection } = createSelections(random);
  const calls = createCalls(random, given, subject);
  const names = new Set<string>();
  const rootField = (): string => {
    const mark = names.size === 0 ? ` ${place}` : '';
    const [call, type] = random.chance(0.1) ? ['__typename', undefined] : calls[kind]();
    const name = call.replace(/\(.*/s, '');
    const alias = names.has(name) || random.chance(0.2) ? `r${names.size}` : undefined;
    names.add(alias ?? name);
    const once = (marked: string) =>
      `${alias === undefined ? '' : `${alias}: `}${call}${marked}${type === undefined ? '' : ` ${selection(type)}`}`;
    return random.chance(0.15) ? `${once(mark)} ${once('')}` : once(mark);
  };
  const root = kind === 'query' ? 'Query' : 'Mutation';
  const rootMember = (): string => {
    const form = random.below(8);
    if (form === 0) return `... { ${rootField()} }`;
    if (form > 1) return rootField();
    const name = `${root}_${fragments.size}`;
    fragments.set(name, `fragment ${name} on ${root} { ${rootField()} }`);
    return random.pick([`...${name}`, `...${name} ... on ${root} { ...${name} }`]);
  };
  const fields = some(random, 4, rootMember).join(' ');
  const isNamed = random.chance(0.3);
  const variables = given.definitions.length === 0 ? '' : `(${given.definitions.join(', ')})`;
  const asked = `${kind}${isNamed ? ' Asked' : ''}${variables} { ${fields} }`;
  const other = isNamed && random.chance(0.6) ? ['query Other { __typename }'] : [];
  return {
    query: [asked, ...other, ...fragments.values()].join('\n'),
    variables: given.values,
    ...(isNamed && random.chance(0.9) ? { operationName: random.chance(0.9) ? 'Asked' : 'Missing' } : {}),
  };
}

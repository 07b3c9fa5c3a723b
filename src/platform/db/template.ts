import { type DialectName, type DialectWords, dialectWords } from './dialect-words.js';

/** A value of a statement. */
export type Value = string | number | null;

/** A bound value; a Buffer is a value in the binary format of Postgres. */
export type Bound = Value | Buffer;

/** SQL text with its values, ready for the driver. The text is the key of the prepared statement. */
export interface Query {
  readonly sql: string;
  readonly values: readonly Bound[];
  /** Every column of the result is text. Postgres then sends the values as they are stored, without computing their length first. */
  readonly allText?: true;
}

/** A list of texts of any length, bound as one value, so that the statement's text does not depend on it. */
type List = readonly string[];

/** Text of a part, the same for both databases or not. */
type Text = string | Readonly<Record<DialectName, string>>;

/** A part of a statement: text, with `?` for each of its values. */
export class SqlPart {
  readonly text: Text;
  readonly values: readonly (Bound | List)[];
  constructor(text: SqlPart['text'], values: SqlPart['values'] = []) {
    this.text = text;
    this.values = values;
  }
}

/** A statement; it may also be a part of another one. */
export class Statement extends SqlPart implements Query {
  readonly sql: string;
  declare readonly text: string;
  declare readonly values: readonly Bound[];
  constructor(text: string, sql: string, values: readonly Bound[]) {
    super(text, values);
    this.sql = sql;
  }
}

/** A part of a template: a bound value, or a piece of the text. False is no text. */
export type Given = Bound | List | SqlPart | false;

/** The tag of SQL templates. */
export type SqlTag = (strings: TemplateStringsArray, ...given: readonly Given[]) => Statement;

/** The texts of a template, by the texts of the parts given so far. A value does not change the text. */
class Texts {
  text = '';
  sql = '';
  #afterValue: Texts | undefined;
  readonly #afterPart = new Map<string, Texts>();

  afterValue(): Texts {
    this.#afterValue ??= new Texts();
    return this.#afterValue;
  }

  afterPart(text: string): Texts {
    const known = this.#afterPart.get(text);
    if (known !== undefined) return known;
    const added = new Texts();
    this.#afterPart.set(text, added);
    return added;
  }
}

/** Most texts of one template, so that names from outside cannot fill the memory. */
const maxTexts = 200;

/** Creates the tag for a database. It writes the text of a template once for the same parts, so that later calls only collect values. */
export function createSqlTag(dialect: DialectName): SqlTag {
  const words = dialectWords[dialect];
  const templates = new Map<TemplateStringsArray, { readonly first: Texts; count: number }>();
  const added = (strings: TemplateStringsArray) => {
    const template = { first: new Texts(), count: 0 };
    templates.set(strings, template);
    return template;
  };
  return (strings, ...given) => {
    const template = templates.get(strings) ?? added(strings);
    let texts = template.first;
    let isPlain = true;
    for (const one of given)
      if (one === false || one instanceof SqlPart) {
        isPlain = false;
        texts = texts.afterPart(textOf(one, dialect));
      } else {
        if (isList(one)) isPlain = false;
        texts = texts.afterValue();
      }
    if (texts.text === '') {
      texts.text = write(strings, given, dialect);
      texts.sql = words.numbered(texts.text);
      if (++template.count >= maxTexts) templates.delete(strings);
    }
    return new Statement(texts.text, texts.sql, isPlain ? (given as Bound[]) : valuesOf(given, words));
  };
}

function valuesOf(given: readonly Given[], { list }: DialectWords): Bound[] {
  const values: Bound[] = [];
  for (const one of given)
    if (one instanceof SqlPart) for (const value of one.values) values.push(isList(value) ? list(value) : value);
    else if (one !== false) values.push(isList(one) ? list(one) : one);
  return values;
}

const isList = (value: Bound | List): value is List => Array.isArray(value);

function textOf(given: SqlPart | false, dialect: DialectName): string {
  if (given === false) return '';
  return typeof given.text === 'string' ? given.text : given.text[dialect];
}

/** The text with `?` for the values. Line breaks of the source become spaces. */
function write(strings: TemplateStringsArray, given: readonly Given[], dialect: DialectName): string {
  const texts = strings.map((text, at) => {
    const before = given[at - 1];
    const part =
      before === undefined ? '' : before === false || before instanceof SqlPart ? textOf(before, dialect) : '?';
    return part + text.replace(/\s*\n\s*/g, '\n');
  });
  return texts
    .join('')
    .replace(/^\n|\n$/g, '')
    .replaceAll('\n', ' ');
}

/** Text of each database. */
export function inWords(write: (words: DialectWords) => string): Text {
  return { sqlite: write(dialectWords.sqlite), postgres: write(dialectWords.postgres) };
}

/** Text of this code base that is not a value, such as a column that is known only at run time. */
export const raw = (text: string, values?: SqlPart['values']) => new SqlPart(text, values);

/** Statements one after another, as one part, with a text between two of them. */
export const joined = (statements: readonly Statement[], between: string) =>
  new SqlPart(
    statements.map(({ text }) => text).join(between),
    statements.flatMap(({ values }) => values),
  );

/** After a column: it is one of a list. */
export const oneOf = (list: List) => new SqlPart(isOneOf, [list]);
const isOneOf = inWords((words) => words.isOneOf);

/** Words at the end of a query that lock its rows until the end of the unit. SQLite has one writer at a time. */
const locking = (words: string) => new SqlPart({ sqlite: '', postgres: ` for ${words}` });

/** Locks the rows of a query. */
export const forUpdate = locking('update');

/** Locks the rows of one of the joined tables. */
export const forUpdateOf = (table: string) => locking(`update of ${table}`);

/** Locks the rows against changes; others may still refer to them. */
export const forNoKeyUpdate = locking('no key update');

/** Locks the rows against changes. */
export const forShare = locking('share');

/** Locks the rows only against being deleted. */
export const forKeyShare = locking('key share');

/** Locks the rows, and skips those that another unit has locked. */
export const skipLocked = locking('update skip locked');

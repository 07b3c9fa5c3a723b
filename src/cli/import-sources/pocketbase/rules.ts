import { type Grant, inBoth, inEither } from '../grants.js';

/** What rules of a collection can refer to. */
export interface RuleContext {
  /** Members of a record that contain ids of users, and whether they contain several. */
  readonly owners: ReadonlyMap<string, 'one' | 'several'>;
  /** Groups of all users that log in. */
  readonly users: readonly Grant[];
  /** Users of an auth collection by its name or id; undefined if it has no group. */
  pocketBaseUsers(collection: string): Grant | undefined;
}

/** The groups of callers that a rule allows, and its parts that no permission expresses. */
interface MappedRule {
  readonly grants: readonly Grant[];
  readonly left: readonly string[];
}

type Token = { readonly kind: 'word' | 'text' | 'sign'; readonly value: string };

const tokenForm =
  /\s+|\/\/[^\n]*|(?<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?<sign>\|\||&&|\?!=|\?!~|\?>=|\?<=|\?=|\?~|\?>|\?<|!=|!~|>=|<=|[=~><()])|(?<word>[@\w#][\w.:@-]*)/gy;

/** Splits a rule; undefined if it has other signs. */
function tokensOf(rule: string): Token[] | undefined {
  const tokens: Token[] = [];
  tokenForm.lastIndex = 0;
  while (tokenForm.lastIndex < rule.length) {
    const groups = tokenForm.exec(rule)?.groups;
    if (groups === undefined) return undefined;
    const { text, sign, word } = groups;
    if (text !== undefined) tokens.push({ kind: 'text', value: text.slice(1, -1) });
    else if (sign !== undefined) tokens.push({ kind: 'sign', value: sign });
    else if (word !== undefined) tokens.push({ kind: 'word', value: word });
  }
  return tokens;
}

/**
 * Maps a rule of PocketBase. Null allows superusers only, and an empty rule allows everyone. A part that cannot be mapped grants nothing:
 * of `a || b` the other part remains, of `a && b` neither.
 */
export function mappedRule(rule: string | null, context: RuleContext): MappedRule {
  if (rule === null) return { grants: [], left: [] };
  const tokens = tokensOf(rule);
  if (tokens === undefined) return { grants: [], left: [rule] };
  if (tokens.length === 0) return { grants: [{ to: 'any' }], left: [] };
  const reader = { tokens, at: 0 };
  const found = union(reader, context);
  return found === undefined || reader.at < tokens.length ? { grants: [], left: [rule] } : found;
}

interface Reader {
  readonly tokens: readonly Token[];
  at: number;
}

function accepts(reader: Reader, sign: string): boolean {
  const token = reader.tokens[reader.at];
  if (token?.kind !== 'sign' || token.value !== sign) return false;
  reader.at += 1;
  return true;
}

/** `&&` binds more strongly than `||`, because PocketBase passes both to SQL. */
function union(reader: Reader, context: RuleContext): MappedRule | undefined {
  const parts: MappedRule[] = [];
  do {
    const from = reader.at;
    const conditions: MappedRule[] = [];
    do {
      const one = condition(reader, context);
      if (one === undefined) return undefined;
      conditions.push(one);
    } while (accepts(reader, '&&'));
    const grants = conditions.map((one) => one.grants).reduce(inBoth);
    const isWhole = conditions.every(({ left }) => left.length === 0);
    parts.push({ grants, left: isWhole ? [] : [printed(reader.tokens.slice(from, reader.at))] });
  } while (accepts(reader, '||'));
  return { grants: inEither(...parts.map(({ grants }) => grants)), left: parts.flatMap(({ left }) => left) };
}

function condition(reader: Reader, context: RuleContext): MappedRule | undefined {
  if (accepts(reader, '(')) {
    const inner = union(reader, context);
    return inner !== undefined && accepts(reader, ')') ? inner : undefined;
  }
  const three = reader.tokens.slice(reader.at, reader.at + 3);
  const [one, sign, other] = three;
  if (one === undefined || sign?.kind !== 'sign' || other === undefined) return undefined;
  if (one.kind === 'sign' || other.kind === 'sign') return undefined;
  reader.at += 3;
  const grants =
    grantsOf(one, sign.value, other, context) ??
    (sign.value.includes('~') ? undefined : grantsOf(other, sign.value, one, context));
  return grants === undefined ? { grants: [], left: [printed(three)] } : { grants, left: [] };
}

/** The groups that `one sign other` allows; undefined if no group expresses it. */
function grantsOf(one: Token, sign: string, other: Token, context: RuleContext): readonly Grant[] | undefined {
  if (one.kind !== 'word') return undefined;
  if (other.kind === 'text') {
    if (one.value === '@request.auth.id') return sign === '!=' && other.value === '' ? context.users : undefined;
    if (!/^@request\.auth\.collection(Name|Id)$/.test(one.value) || sign !== '=') return undefined;
    const group = context.pocketBaseUsers(other.value);
    return group && [group];
  }
  if (other.value !== '@request.auth.id') return undefined;
  const member = one.value.replace(/\.id$/, '');
  const owners = context.owners.get(member);
  const signs = owners === 'one' ? ['=', '?=', '~', '?~'] : ['?=', '~', '?~'];
  return owners !== undefined && signs.includes(sign) ? [{ to: 'owner', member }] : undefined;
}

function printed(tokens: readonly Token[]): string {
  return tokens.map(({ kind, value }) => (kind === 'text' ? JSON.stringify(value) : value)).join(' ');
}

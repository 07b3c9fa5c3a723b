import { type Access, type Grant, inBoth, inEither, withSafeCreation } from '../grants.js';
import type { UnsupportedList } from '../unsupported-list.js';
import type { ClientRole, Policy, SourceTable, TableCommand } from './data.js';

/** Roles that bypass policies or are none of clients. */
const ofServer = /^(service_role|postgres|supabase_\w+|dashboard_user|authenticator|pg_\w+)$/;

/** Maps the policies of a table. What no permission expresses is added to the list. */
export function policyAccess(table: SourceTable, unsupported: UnsupportedList): Access {
  const report = (text: string) => unsupported.add('policy', `${table.name}: ${text}`);
  if (!table.rowSecurity && Object.values(table.privileges).some(({ size }) => size > 0)) {
    report('row level security is off, so every client could use the table. No permission is granted here.');
    return { read: [], create: [], update: [], delete: [] };
  }
  const grantsOf = (command: TableCommand): Grant[] => {
    const policies = table.policies.filter((one) => one.command === command || one.command === 'all');
    const limit = policies.find(({ isRestrictive }) => isRestrictive);
    if (limit !== undefined) {
      report(
        `the restrictive policy ${JSON.stringify(limit.name)} has no counterpart, so nothing is granted for ${command}.`,
      );
      return [];
    }
    return inEither(...policies.map((policy) => policyGrants(table, command, policy, report)));
  };
  const owned = grantsOf('insert');
  if (owned.some(({ to }) => to === 'owner'))
    report(
      'no permission checks the owner of a new row. Documents can be created by server keys, or by all users after you grant create to users, and then the service does not check the owner.',
    );
  const whole: Access = {
    read: grantsOf('select'),
    create: owned.filter(({ to }) => to !== 'owner'),
    update: grantsOf('update'),
    delete: grantsOf('delete'),
  };
  const { access, problem } = withSafeCreation(whole);
  if (problem !== undefined) report(problem);
  return access;
}

function policyGrants(
  { columns, privileges }: SourceTable,
  command: TableCommand,
  policy: Policy,
  report: (text: string) => void,
): Grant[] {
  const named = new Set(columns.map(({ name }) => name));
  const clients = (['anon', 'authenticated'] as const).filter(
    (role) => (policy.roles.includes('public') || policy.roles.includes(role)) && privileges[role].has(command),
  );
  const foreign = policy.roles.filter(
    (role) => !['public', 'anon', 'authenticated'].includes(role) && !ofServer.test(role),
  );
  if (foreign.length > 0)
    report(`policy ${JSON.stringify(policy.name)}: the role ${foreign.join(', ')} has no counterpart.`);
  if (clients.length === 0) return [];
  const using = policy.using ?? 'true';
  const check = policy.check ?? using;
  const expressions = { select: [using], delete: [using], insert: [check], update: [using, check] }[command];
  const parts = [...new Set(expressions)].map((expression) => mappedExpression(expression, clients, named));
  for (const left of new Set(parts.flatMap((part) => part.left)))
    report(
      `policy ${JSON.stringify(policy.name)} for ${command}: no permission expresses ${left}. This part grants nothing here.`,
    );
  return parts.map(({ grants }) => grants).reduce(inBoth);
}

interface Mapped {
  readonly grants: Grant[];
  readonly left: readonly string[];
}

/** Maps an expression for the clients of a policy. */
function mappedExpression(text: string, clients: readonly ClientRole[], columns: ReadonlySet<string>): Mapped {
  const plain = simplified(text);
  const either = divided(plain, 'OR');
  if (either.length > 1) {
    const parts = either.map((one) => mappedExpression(one, clients, columns));
    return { grants: inEither(...parts.map(({ grants }) => grants)), left: parts.flatMap(({ left }) => left) };
  }
  const both = divided(plain, 'AND');
  if (both.length > 1) {
    const parts = both.map((one) => mappedExpression(one, clients, columns));
    return parts.some(({ left }) => left.length > 0)
      ? { grants: [], left: [plain] }
      : { grants: parts.map(({ grants }) => grants).reduce(inBoth), left: [] };
  }
  const grants = conditionGrants(plain, clients, columns);
  return grants === undefined ? { grants: [], left: [plain] } : { grants, left: [] };
}

const comparison = /^(.+?) = (.+)$/s;

function conditionGrants(
  text: string,
  clients: readonly ClientRole[],
  columns: ReadonlySet<string>,
): Grant[] | undefined {
  const users: Grant[] = clients.includes('authenticated') ? [{ to: 'users' }] : [];
  if (text === 'true') return clients.length === 2 ? [{ to: 'any' }] : users.length > 0 ? users : [{ to: 'guests' }];
  if (text === 'false') return [];
  if (text === 'auth.uid() IS NOT NULL' || text === "auth.role() = 'authenticated'") return users;
  const [, one = '', other = ''] = comparison.exec(text) ?? [];
  const [left, right] = [simplified(one), simplified(other)];
  const column = left === 'auth.uid()' ? right : right === 'auth.uid()' ? left : undefined;
  const member = column?.replace(/^"(.*)"$/, '$1');
  if (member === undefined || !columns.has(member)) return undefined;
  return users.length > 0 ? [{ to: 'owner', member }] : [];
}

/** The expression without casts, subqueries around functions, and brackets around the whole. */
function simplified(text: string): string {
  let plain = text
    .trim()
    .replace(/\(\s*SELECT (auth\.(?:uid|role)\(\))(?: AS \w+)?\s*\)/gi, '$1')
    .replace(/\((auth\.(?:uid|role)\(\)|"?\w+"?)\)(?=::|\s|\)|$)/g, '$1')
    .replace(/::(?:text|uuid|character varying)\b/g, '');
  while (plain.startsWith('(') && closing(plain, 0) === plain.length - 1) plain = plain.slice(1, -1).trim();
  return plain;
}

function closing(text: string, at: number): number {
  let depth = 0;
  let quoted = false;
  for (let index = at; index < text.length; index += 1) {
    const sign = text[index];
    if (sign === "'") quoted = !quoted;
    if (quoted) continue;
    if (sign === '(') depth += 1;
    if (sign === ')') depth -= 1;
    if (depth === 0) return index;
  }
  return -1;
}

/** The parts of a text between a word outside of brackets and quotes. */
function divided(text: string, word: 'AND' | 'OR'): string[] {
  const parts: string[] = [];
  let from = 0;
  for (let index = 0; index < text.length; index += 1) {
    if (text[index] === "'") {
      index = text.indexOf("'", index + 1);
      if (index < 0) return [text];
    } else if (text[index] === '(') {
      index = closing(text, index);
      if (index < 0) return [text];
    } else if (text.startsWith(` ${word} `, index)) {
      parts.push(text.slice(from, index));
      from = index + word.length + 2;
      index = from - 1;
    }
  }
  return [...parts, text.slice(from)];
}

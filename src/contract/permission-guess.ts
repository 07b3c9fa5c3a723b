import { similar } from './similar.js';

/** Longer texts are not treated as mistyped permissions. */
const longestGuessed = 128;

/** Synonyms of actions, including those of other services. */
const actions: Readonly<Record<string, string>> = {
  read: 'read',
  create: 'create',
  update: 'update',
  delete: 'delete',
  write: 'write',
  view: 'read',
  get: 'read',
  list: 'read',
  add: 'create',
  insert: 'create',
  edit: 'update',
  remove: 'delete',
};

/** Synonyms of roles, including those of other services and of the first versions of Appwrite. */
const roles: Readonly<Record<string, string>> = {
  any: 'any',
  '*': 'any',
  all: 'any',
  anyone: 'any',
  everyone: 'any',
  public: 'any',
  guests: 'guests',
  guest: 'guests',
  anonymous: 'guests',
  users: 'users',
  member: 'users',
  members: 'users',
  authenticated: 'users',
};

/** Synonyms of roles with an id. */
const namedRoles: Readonly<Record<string, string>> = {
  user: 'user',
  users: 'user',
  team: 'team',
  teams: 'team',
  member: 'member',
  members: 'member',
  label: 'label',
  labels: 'label',
};

const form = /^\s*(\w+)\s*[(: ]\s*["']?([^"'()]+?)["']?\s*\)?\s*$/u;

/** The permission most likely intended by an invalid one, not validated yet; undefined if it resembles none. */
export function guessPermission(text: string): string | undefined {
  if (text.length > longestGuessed) return undefined;
  const [, word = '', named = ''] = form.exec(text) ?? [];
  const action = wordFor(word, actions);
  const role = roleFor(action === undefined ? text : named);
  return role === undefined ? undefined : `${action ?? 'read'}("${role}")`;
}

function roleFor(text: string): string | undefined {
  const [head = '', id, ...rest] = text
    .trim()
    .replace(/^role:/i, '')
    .split(/[:/]/);
  if (id === undefined) return head.toLowerCase() === 'user' ? 'users' : wordFor(head, roles);
  if (/^users?$/i.test(head) && /^(un)?verified$/.test(id)) return `users/${id}`;
  const name = wordFor(head, namedRoles);
  return name === undefined ? undefined : [`${name}:${id}`, ...rest].join('/');
}

function wordFor(word: string, words: Readonly<Record<string, string>>): string | undefined {
  const lower = word.toLowerCase();
  const key = Object.hasOwn(words, lower) ? lower : similar(lower, Object.keys(words));
  return key === undefined ? undefined : words[key];
}

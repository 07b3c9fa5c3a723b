import { similar } from './similar.js';

/** Longer texts are not treated as mistyped permissions. */
const longestGuessed = 128;

/** Words by their synonyms. */
function bySynonym(synonyms: Readonly<Record<string, readonly string[]>>): Readonly<Record<string, string>> {
  const pairs = Object.entries(synonyms).flatMap(([word, others]) => [word, ...others].map((one) => [one, word]));
  return Object.fromEntries(pairs);
}

/** Synonyms of actions, including those of other services. */
const actions = bySynonym({
  read: ['view', 'get', 'list'],
  create: ['add', 'insert'],
  update: ['edit'],
  delete: ['remove'],
  write: [],
});

/** Synonyms of roles, including those of other services and of the first versions of Appwrite. */
const roles = bySynonym({
  any: ['*', 'all', 'anyone', 'everyone', 'public'],
  guests: ['guest', 'anonymous'],
  users: ['member', 'members', 'authenticated'],
});

/** Synonyms of roles with an id. */
const namedRoles = bySynonym({ user: ['users'], team: ['teams'], member: ['members'], label: ['labels'] });

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

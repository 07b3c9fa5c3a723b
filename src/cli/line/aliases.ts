import type { Command } from './command.js';

/** Verbs that other programs use, with the verbs of svc for the same. The first one that the group has is used. */
const aliases: Readonly<Record<string, readonly string[]>> = {
  ls: ['list'],
  rm: ['delete', 'remove', 'revoke'],
  del: ['delete', 'remove', 'revoke'],
  delete: ['remove', 'revoke'],
  remove: ['delete', 'revoke'],
  get: ['show'],
  info: ['show'],
  inspect: ['show'],
  view: ['show'],
  add: ['create'],
  new: ['create', 'add'],
  create: ['add'],
  edit: ['update'],
};

const installed = 'install the new version, then svc migrate: docs/upgrade.md has the commands';
const stopping = 'systemctl stop svc, or Ctrl-C in the terminal of svc serve';
const operator =
  'there is no admin account: whoever can read the settings file is the operator; svc user create makes a user, svc apikey create a server key';
const console_ = 'svc has no web console: svc --help lists the commands, svc status --watch shows what runs';
const types =
  'svc openapi --types --project ID prints TypeScript types, svc gen client --project ID --out FILE a typed client';
const deploying =
  'svc project apply -f FILE creates and changes what a file says, also an appwrite.config.json; the schema of svc itself changes with svc migrate';
const deleting =
  'each noun has its own command: svc project delete, svc user delete, svc collection delete, svc apikey revoke; svc NOUN --help shows it';
const keeping =
  'svc config set SVC_BACKUP_KEEP 14 keeps the newest 14 after each scheduled backup; other backups are files that you delete yourself';
const code = 'svc runs no code of applications: svc webhook add calls your own server for each event';

/** What to run instead of commands of other programs. A word of a group follows its group. */
const instead: Readonly<Record<string, string>> = {
  dump: 'svc backup create',
  restore: 'svc backup restore FILE',
  snapshot: 'svc backup create',
  upgrade: installed,
  update: installed,
  'self-update': installed,
  revoke: 'svc apikey revoke KEY --project ID',
  start: 'svc serve',
  run: 'svc serve',
  up: 'svc serve',
  dev: 'svc serve',
  server: 'svc serve',
  stop: stopping,
  down: stopping,
  kill: stopping,
  restart: 'systemctl restart svc, or end svc serve with Ctrl-C and start it again',
  reload: 'systemctl reload svc',
  ps: 'svc status',
  top: 'svc status --watch',
  stats: 'svc status',
  info: 'svc status',
  health: 'svc status',
  ping: 'svc status',
  check: 'svc doctor',
  journal: 'svc logs',
  tail: 'svc logs --follow',
  ls: 'svc project list',
  list: 'svc project list',
  rm: deleting,
  delete: deleting,
  remove: deleting,
  'rotate-master': 'svc keys rotate-master',
  new: 'svc project create NAME',
  create: 'svc project create NAME',
  use: 'svc config set SVC_PROJECT ID',
  link: 'svc config set SVC_PROJECT ID',
  install: 'svc init',
  setup: 'svc init',
  login: `no login is needed: ${operator.replace(/^.*?: /, '')}`,
  logout: `no login is needed: ${operator.replace(/^.*?: /, '')}`,
  whoami: operator,
  superuser: operator,
  admin: operator,
  console: console_,
  dashboard: console_,
  ui: console_,
  studio: console_,
  open: console_,
  types,
  generate: types,
  codegen: types,
  deploy: deploying,
  push: deploying,
  pull: 'svc project export ID prints a project as a file',
  functions: code,
  function: code,
  exec: 'svc runs on this machine: run the command without exec',
  shell: 'svc has no shell: sqlite3 or psql opens the database; svc config show names it',
  sql: 'svc has no shell: sqlite3 or psql opens the database; svc config show names it',
  psql: 'svc has no shell: sqlite3 or psql opens the database; svc config show names it',
  env: 'svc status -o env',
  settings: 'svc config show',
  set: 'svc config set KEY VALUE',
  get: 'svc config show',
  secrets: 'svc config set KEY --value-file FILE',
  storage: 'svc bucket list --project ID',
  tables: 'svc collection list --project ID --database ID',
  auth: 'svc user list --project ID',
  account: 'svc user list --project ID',
  jobs: 'svc cron list',
  hooks: 'svc webhook list --project ID',
  export: 'svc document export, or svc backup create for everything',
  import: 'svc document import FILE, or svc backup restore FILE for everything',
  'gen types': types,
  'config get': 'svc config show',
  'config list': 'svc config show',
  'config ls': 'svc config show',
  'config edit': 'svc config set KEY VALUE',
  'config rm': 'svc config unset KEY',
  'project use': 'svc config set SVC_PROJECT ID',
  'project select': 'svc config set SVC_PROJECT ID',
  'project switch': 'svc config set SVC_PROJECT ID',
  'project set': 'svc project update ID --set KEY=VALUE',
  'user password': 'svc user update USER --password-stdin',
  'user passwd': 'svc user update USER --password-stdin',
  'user ban': 'svc user block USER',
  'user unban': 'svc user unblock USER',
  'user logout': 'svc user sessions USER --end-all',
  'migrate create': 'the migrations belong to svc: collections are changed with svc collection add-attribute',
  'migrate new': 'the migrations belong to svc: collections are changed with svc collection add-attribute',
  'migrate collections': 'the migrations belong to svc: collections are changed with svc collection add-attribute',
  copy: 'svc db copy --to URL copies the database',
  'db migrate': 'svc migrate',
  'db backup': 'svc backup create',
  'db dump': 'svc backup create',
  'db restore': 'svc backup restore FILE',
  'db push': 'svc project apply -f FILE',
  'db reset': 'svc database delete ID --project ID',
  'database push': 'svc project apply -f FILE',
  'events watch': 'svc events tail',
  'backup download': 'svc backup create FILE',
  'backup rm': keeping,
  'backup delete': keeping,
  'backup remove': keeping,
  'backup prune': keeping,
  'backup clean': keeping,
};

/** The next step for a word of another program; undefined if it is unknown. */
export function insteadOf(words: string): string | undefined {
  return Object.hasOwn(instead, words) ? instead[words] : undefined;
}

/** Indexes of the words that are neither flags nor the value of `--config`. */
export function wordsAt(argv: readonly string[]): number[] {
  return [...argv.keys()].filter((at) => !argv[at]?.startsWith('-') && argv[at - 1] !== '--config');
}

/** The words that may follow a group, or `svc` itself. */
export function verbsAfter(group: string, commands: readonly Command[]): string[] {
  if (group === '') return commands.map(({ path }) => path.split(' ')[0] ?? '');
  return commands.filter(({ path }) => path.startsWith(`${group} `)).map(({ path }) => path.slice(group.length + 1));
}

/** Replaces the plural of a group and verbs of other programs: `users ls` becomes `user list`. */
export function withAliases(argv: readonly string[], commands: readonly Command[]): readonly string[] {
  const [nounAt = -1, verbAt = -1] = wordsAt(argv);
  const nouns = verbsAfter('', commands);
  const word = argv[nounAt] ?? '';
  const noun = nouns.includes(word) ? word : [word.replace(/s$/, ''), `${word}s`].find((one) => nouns.includes(one));
  if (noun === undefined) return argv;
  const verbs = verbsAfter(noun, commands);
  const second = argv[verbAt] ?? '';
  const verb =
    verbs.length === 0 || verbs.includes(second) || insteadOf(`${noun} ${second}`) !== undefined
      ? undefined
      : Object.hasOwn(aliases, second)
        ? aliases[second]?.find((one) => verbs.includes(one))
        : undefined;
  return argv.map((one, at) => (at === nounAt ? noun : at === verbAt && verb !== undefined ? verb : one));
}

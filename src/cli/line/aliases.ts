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

/** What to run instead of commands of other programs, followed by these commands. A word of a group follows its group. */
const instead: readonly (readonly [step: string, ...words: string[]])[] = [
  ['svc backup create', 'dump', 'snapshot', 'db backup', 'db dump'],
  ['svc backup restore FILE', 'restore', 'db restore'],
  [installed, 'upgrade', 'update', 'self-update'],
  ['svc apikey revoke KEY --project ID', 'revoke'],
  ['svc serve', 'start', 'run', 'up', 'dev', 'server'],
  [stopping, 'stop', 'down', 'kill'],
  ['systemctl restart svc, or end svc serve with Ctrl-C and start it again', 'restart'],
  ['systemctl reload svc', 'reload'],
  ['svc status', 'ps', 'stats', 'info', 'health', 'ping'],
  ['svc status --watch', 'top'],
  ['svc doctor', 'check'],
  ['svc logs', 'journal'],
  ['svc logs --follow', 'tail'],
  ['svc project list', 'ls', 'list'],
  [deleting, 'rm', 'delete', 'remove'],
  ['svc keys rotate-master', 'rotate-master'],
  ['svc project create NAME', 'new', 'create'],
  ['svc config set SVC_PROJECT ID', 'use', 'link', 'project use', 'project select', 'project switch'],
  ['svc init', 'install', 'setup'],
  [`no login is needed: ${operator.replace(/^.*?: /, '')}`, 'login', 'logout'],
  [operator, 'whoami', 'superuser', 'admin'],
  [console_, 'console', 'dashboard', 'ui', 'studio', 'open'],
  [types, 'types', 'generate', 'codegen', 'gen types'],
  [deploying, 'deploy', 'push'],
  ['svc project export ID prints a project as a file', 'pull'],
  [code, 'functions', 'function'],
  ['svc runs on this machine: run the command without exec', 'exec'],
  ['svc has no shell: sqlite3 or psql opens the database; svc config show names it', 'shell', 'sql', 'psql'],
  ['svc status -o env', 'env'],
  ['svc config show', 'settings', 'get', 'config get', 'config list', 'config ls'],
  ['svc config set KEY VALUE', 'set', 'config edit'],
  ['svc config set KEY --value-file FILE', 'secrets'],
  ['svc bucket list --project ID', 'storage'],
  ['svc collection list --project ID --database ID', 'tables'],
  ['svc user list --project ID', 'auth', 'account'],
  ['svc cron list', 'jobs'],
  ['svc webhook list --project ID', 'hooks'],
  ['svc document export, or svc backup create for everything', 'export'],
  ['svc document import FILE, or svc backup restore FILE for everything', 'import'],
  ['svc config unset KEY', 'config rm'],
  ['svc project update ID --set KEY=VALUE', 'project set'],
  ['svc user update USER --password-stdin', 'user password', 'user passwd'],
  ['svc user block USER', 'user ban'],
  ['svc user unblock USER', 'user unban'],
  ['svc user sessions USER --end-all', 'user logout'],
  [
    'the migrations belong to svc: collections are changed with svc collection add-attribute',
    'migrate create',
    'migrate new',
    'migrate collections',
  ],
  ['svc db copy --to URL copies the database', 'copy'],
  ['svc migrate', 'db migrate'],
  ['svc project apply -f FILE', 'db push', 'database push'],
  ['svc database delete ID --project ID', 'db reset'],
  ['svc events tail', 'events watch'],
  ['svc backup create FILE', 'backup download'],
  [keeping, 'backup rm', 'backup delete', 'backup remove', 'backup prune', 'backup clean'],
];

/** The next step for a word of another program; undefined if it is unknown. */
export function insteadOf(words: string): string | undefined {
  return instead.find(([, ...known]) => known.includes(words))?.[0];
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

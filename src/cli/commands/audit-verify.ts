import { createReadStream, statSync } from 'node:fs';
import { publicKeyOf, verifyExport } from '#src/features/index.js';
import { type CommandCall, type CommandResult, command, optionalProject } from '../line/command.js';
import { failedError, notFoundError, usageError } from '../terminal/exit.js';
import { pairs } from '../terminal/table.js';

/** Maximum characters in a line of an export. */
const maxLine = 4_194_304;

/** Maximum number of further bad entries shown as text; JSON contains all. */
const maxShown = 20;

interface Finding {
  readonly seq: number | null;
  readonly problem: string;
}

/** The result of verifying a database or an export. */
interface Verified {
  readonly entries: number;
  readonly head: string;
  readonly seq: number;
  readonly publicKey: string;
  readonly findings: readonly Finding[];
  readonly erased?: number;
  readonly waiting?: number;
}

/** `svc audit verify` */
export const verify = command({
  path: 'audit verify',
  summary: 'Verifies the audit log: HMACs, chain, segments and signed head. Exit code 1 names the bad entries',
  options: [
    optionalProject('with the whole chain, which all projects share, this project must have entries'),
    {
      flag: '--head',
      value: 'HASH',
      summary: 'also require that the chain contains this hash, which was noted elsewhere',
    },
    { flag: '--file', value: 'FILE', summary: 'verify an export instead, without an installation', group: 'Export' },
    { flag: '--public-key', value: 'KEY', summary: 'only this key may have signed the export', group: 'Export' },
  ],
  examples: ['svc audit verify', 'svc audit verify --file audit.ndjson --json'],
  offline: (call) => (call.args.text('--file') === undefined ? undefined : verifyFile(call)),
  run: async ({ args, features, findProject, runtime, output }) => {
    requireHash(args.text('--head'));
    if (args.isGiven('--public-key'))
      throw usageError('--public-key can only be used with --file.', 'leave it out, or add --file FILE');
    const projectId = args.text('--project');
    if (projectId !== undefined && !(await features.projects.wasDeleted(runtime.db, projectId))) await findProject();
    // If sealing fails, the verification reports why.
    await features.audit.seal().catch(() => output.note('New entries could not be sealed.'));
    const verdict = await features.audit.verify(args.text('--head'));
    return shown({ ...verdict, publicKey: await features.audit.publicKey().catch(() => '') });
  },
});

/** Throws if the text is not a SHA-256 hash in base64url. */
function requireHash(text: string | undefined): void {
  if (text !== undefined && !/^[A-Za-z0-9_-]{43}$/.test(text))
    throw usageError(
      '--head is not a hash.',
      'give the 43 characters of head that svc audit verify or the log line audit.head has',
    );
}

/** False for an inaccessible path: opening it reports the error. */
function isDirectory(file: string): boolean {
  try {
    return statSync(file).isDirectory();
  } catch {
    return false;
  }
}

async function verifyFile({ args }: CommandCall): Promise<CommandResult> {
  requireHash(args.text('--head'));
  if (args.isGiven('--project'))
    throw usageError('--project and --file cannot be combined.', 'an export says of which project it is');
  const publicKey = args.text('--public-key');
  if (publicKey !== undefined && publicKeyOf(publicKey) === undefined)
    throw usageError('--public-key is not a public key.', 'give the 43 characters that svc audit verify prints');
  const file = args.text('--file') ?? '';
  if (isDirectory(file)) throw usageError(`${file} is a directory.`, 'name the file that svc audit export has written');
  const input = createReadStream(file, 'utf8');
  await new Promise<void>((resolve, reject) => {
    input.once('open', () => resolve());
    input.once('error', () =>
      reject(notFoundError('file_not_found', `${file} cannot be read.`, 'check the path and its permissions')),
    );
  });
  const verdict = await verifyExport(linesOf(input, file), { publicKey, notedHead: args.text('--head') });
  if (verdict.isExport) return shown(verdict);
  throw failedError(
    'not_an_export',
    `${file} is not an export of the audit log: its first line is not that of one.`,
    'name the file that svc audit export has written',
  );
}

/** Reads the lines of a file. Throws at a line longer than any in an export, instead of reading it completely. */
async function* linesOf(chunks: AsyncIterable<string>, file: string): AsyncGenerator<string, void, undefined> {
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split(/\r?\n/);
    rest = lines.pop() ?? '';
    yield* lines;
    if (rest.length > maxLine)
      throw usageError(
        `${file} has a line of more than ${maxLine / 1_048_576} MiB, which no export has.`,
        'name the file that svc audit export has written',
      );
  }
  if (rest !== '') yield rest;
}

function shown({ entries, head, seq, publicKey, findings, erased, waiting }: Verified): CommandResult {
  const [first] = findings;
  const ok = first === undefined;
  const value = {
    ok,
    entries,
    head,
    seq,
    publicKey,
    ...(erased === undefined ? {} : { erased }),
    ...(waiting === undefined ? {} : { unsealed: waiting }),
    ...(ok ? {} : { firstBad: first.seq, problem: first.problem, bad: findings }),
  };
  const text = pairs([
    ['result', ok ? 'the audit log is intact' : 'THE AUDIT LOG WAS CHANGED'],
    ...rowsOf(findings),
    ['entries', String(entries)],
    ...(erased === undefined ? [] : ([['erased values', String(erased)]] as const)),
    ...(waiting === undefined ? [] : ([['unsealed entries', String(waiting)]] as const)),
    ['head', `${head || 'none'} (entry ${seq})`],
    ['public key', publicKey || 'none'],
  ]);
  return { value, text, exitCode: ok ? 0 : 1 };
}

/** Rows for the bad entries; the first gets separate rows. */
function rowsOf([first, ...more]: readonly Finding[]): (readonly [string, string])[] {
  if (first === undefined) return [];
  const shown = more
    .slice(0, maxShown)
    .map((finding) => ['also bad', `${numberOf(finding)}: ${finding.problem}`] as const);
  const left = more.length - shown.length;
  return [
    ['first bad entry', numberOf(first)],
    ['problem', first.problem],
    ...shown,
    ...(left === 0 ? [] : ([['also bad', `${left} more, with --json`]] as const)),
  ];
}

function numberOf({ seq }: Finding): string {
  return seq === null ? 'unknown' : String(seq);
}

import { signingKeyLife } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { SigningKeyStatus } from '#src/features/index.js';
import { type ApplianceCall, type CommandResult, command, optionalProject, type ParsedArgs } from '../line/command.js';
import { durationUpTo, gotten, span, valid } from '../line/input.js';
import { usageError } from '../terminal/exit.js';
import { columns } from '../terminal/table.js';
import { rotateMasterCommand } from './keys-rotate-master.js';

const { overlapSeconds, maxOverlapSeconds, publishSeconds } = signingKeyLife;

const status = command({
  path: 'keys status',
  summary:
    'Shows the keys that sign JWTs: the current key, the next one, and retired keys with tokens that are still valid',
  options: [optionalProject('the project (default: all)')],
  examples: ['svc keys status --project shop', 'svc keys status --json'],
  run: async (call) => shown(call, await chosen(call)),
});

const rotate = command({
  path: 'keys rotate',
  summary: `Publishes new signing keys and starts to sign with them ${publishSeconds / 60} minutes later. The old keys stay published until their last token has expired`,
  options: [
    optionalProject('the project'),
    { flag: '--all', summary: 'rotate the keys of every project' },
    {
      flag: '--overlap',
      value: 'DURATION',
      summary: `how long the old keys stay published after that, such as 2h (default and minimum: ${span(overlapSeconds)})`,
    },
  ],
  examples: ['svc keys rotate --project shop', 'svc keys rotate --all --overlap 2h --json'],
  run: async (call) => {
    const { args, features, auditContext } = call;
    const isAll = args.isSet('--all');
    if (isAll === args.isGiven('--project'))
      throw usageError('No project is given.', 'give either --project ID or --all');
    const seconds = overlapOf(args);
    const projects = await chosen(call);
    for (const one of projects) await features.signingKeys.rotate(auditContext(one.id), one, undefined, seconds);
    return shown(call, projects);
  },
});

const statusOfShop = 'svc keys status --project shop --json';
const revoke = command({
  path: 'keys revoke',
  summary: 'Revokes a signing key. Running servers refuse every JWT that it has signed within a second',
  arguments: [{ name: 'KID', summary: 'the id of the key, from svc keys status' }],
  examples: [
    `svc keys revoke $(${statusOfShop} | node -p 'JSON.parse(fs.readFileSync(0)).keys[0].kid') --yes --json`,
    `svc keys revoke $(${statusOfShop} | node -p 'JSON.parse(fs.readFileSync(0)).keys.at(-1).kid') --yes --json`,
  ],
  run: async ({ args, prompts, runtime, features, auditContext }): Promise<CommandResult> => {
    const kid = args.argument('KID');
    const owner = await features.projects.get(runtime.db, await features.signingKeys.projectOf(runtime.db, kid));
    await prompts.confirm(`Revoke the signing key ${kid} of ${owner.id}, and with it every JWT that it has signed?`);
    await features.signingKeys.revoke(auditContext(owner.id), owner, kid);
    const text = `Signing key ${kid} of ${owner.id} is revoked.`;
    return {
      value: { projectId: owner.id, kid, revoked: true },
      text,
      next: 'verifiers that keep a copy of the published keys accept its tokens until they fetch the keys again, at most until the tokens expire',
    };
  },
});

/** `svc keys …` */
export const keysCommands = [status, rotate, revoke, rotateMasterCommand];

async function chosen({ args, runtime, features, findProject }: ApplianceCall): Promise<Project[]> {
  return args.isGiven('--project') ? [await findProject()] : features.projects.list(runtime.db);
}

/** Parses `--overlap`, the time that old keys stay published. Must be at least the lifetime of their tokens. */
function overlapOf(args: ParsedArgs): number | undefined {
  const text = args.text('--overlap');
  if (text === undefined) return undefined;
  const seconds = valid(durationUpTo(maxOverlapSeconds), '--overlap', text);
  if (seconds >= overlapSeconds) return seconds;
  throw usageError(
    `--overlap must be at least ${span(overlapSeconds)}${gotten(text)}.`,
    'the tokens of the old key have to expire first; svc keys revoke KID ends a key at once',
  );
}

/** A single project as an object; several as a list of objects. */
async function shown({ args, features }: ApplianceCall, projects: readonly Project[]): Promise<CommandResult> {
  const found: { projectId: string; keys: SigningKeyStatus[] }[] = [];
  for (const one of projects) found.push({ projectId: one.id, keys: await features.signingKeys.status(one) });
  const [only] = found;
  return {
    value: args.text('--project') === undefined ? { projects: found } : only,
    text: columns(
      ['PROJECT', 'KID', 'ALG', 'STATE', 'CREATED', 'SIGNS FROM', 'RETIRES', 'GONE'],
      found.flatMap(({ projectId, keys }) =>
        keys.map((key) => [
          ...[projectId, key.kid, key.alg, key.state, key.createdAt, key.signsFrom, key.retireAt, key.goneAt ?? '-'],
        ]),
      ),
    ),
  };
}

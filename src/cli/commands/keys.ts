import { z } from 'zod';
import { signingKeyLife } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { SigningKeyStatus } from '#src/features/index.js';
import type { Answer } from '../answer.js';
import { type ApplianceCall, command } from '../command.js';
import { usageError } from '../exit.js';
import { duration, valid } from '../input.js';
import { columns } from '../output.js';

const { overlapSeconds, mostOverlapSeconds, publishSeconds } = signingKeyLife;
const project = { flag: '--project', value: 'ID', summary: 'the project' } as const;
const overlap = duration.pipe(
  z
    .int()
    .min(
      overlapSeconds,
      `must be at least ${overlapSeconds / 60}m: until then its tokens are about; svc keys revoke ends a key at once`,
    )
    .max(mostOverlapSeconds, `must be at most ${mostOverlapSeconds / 86_400}d`),
);

const status = command({
  path: 'keys status',
  summary:
    'Shows the keys that sign JWTs: which signs, which comes next, which are kept for tokens that are still about',
  options: [{ ...project, summary: 'the project (default: all)' }],
  examples: ['svc keys status --project shop', 'svc keys status --json'],
  needs: 'appliance',
  run: async (call) => shown(call, await chosen(call)),
});

const rotate = command({
  path: 'keys rotate',
  summary: `Publishes new keys, which sign ${publishSeconds / 60} minutes later, when everybody knows them; the old ones stay until their last token has expired`,
  options: [
    project,
    { flag: '--all', summary: 'the keys of every project' },
    {
      flag: '--overlap',
      value: 'DURATION',
      summary: `for how long the old ones stay after that, such as 2h (default: ${overlapSeconds / 60}m, the least)`,
    },
  ],
  examples: ['svc keys rotate --project shop', 'svc keys rotate --all --overlap 2h --json'],
  needs: 'appliance',
  run: async (call) => {
    const { typed, appliance, by } = call;
    const isAll = typed.isSet('--all');
    if (isAll === (typed.text('--project') !== undefined))
      throw usageError('Say whose keys to rotate.', 'give either --project ID or --all');
    const given = typed.text('--overlap');
    const seconds = given === undefined ? undefined : valid(overlap, '--overlap', given);
    const projects = await chosen(call);
    for (const one of projects) await appliance.features.signingKeys.rotate(by(one.id), one, undefined, seconds);
    return shown(call, projects);
  },
});

const statusOfShop = 'svc keys status --project shop --json';
const revoke = command({
  path: 'keys revoke',
  summary: 'Ends a key at once: every JWT that it has signed is refused, by running servers within a second',
  arguments: [{ name: 'KID', summary: 'the id of the key, from svc keys status' }],
  examples: [
    `svc keys revoke $(${statusOfShop} | node -p 'JSON.parse(fs.readFileSync(0)).keys[0].kid') --yes --json`,
    `svc keys revoke $(${statusOfShop} | node -p 'JSON.parse(fs.readFileSync(0)).keys.at(-1).kid') --yes --json`,
  ],
  needs: 'appliance',
  run: async ({ typed, prompts, appliance: { platform, features }, by }): Promise<Answer> => {
    const kid = typed.argument('KID');
    const owner = await features.projects.get(platform.db, await features.signingKeys.projectOf(platform.db, kid));
    await prompts.confirm(`Revoke the signing key ${kid} of ${owner.id}, and with it every JWT that it has signed?`);
    await features.signingKeys.revoke(by(owner.id), owner, kid);
    const text = `Signing key ${kid} of ${owner.id} is revoked.`;
    return {
      value: { projectId: owner.id, kid, revoked: true },
      text,
      next: 'who verifies JWTs by a copy of the published keys accepts its tokens until they expire or the copy is fetched anew',
    };
  },
});

/** `svc keys …` */
export const keysCommands = [status, rotate, revoke];

async function chosen({ typed, appliance: { platform, features } }: ApplianceCall): Promise<Project[]> {
  const id = typed.text('--project');
  return id === undefined ? features.projects.list(platform.db) : [await features.projects.get(platform.db, id)];
}

/** One project as such; several as a list of the same. */
async function shown({ typed, appliance: { features } }: ApplianceCall, projects: readonly Project[]): Promise<Answer> {
  const found: { projectId: string; keys: SigningKeyStatus[] }[] = [];
  for (const one of projects) found.push({ projectId: one.id, keys: await features.signingKeys.status(one) });
  const [only] = found;
  return {
    value: typed.text('--project') === undefined ? { projects: found } : only,
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

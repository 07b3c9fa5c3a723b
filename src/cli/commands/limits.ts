import { isIP } from 'node:net';
import { Failure } from '#src/contract/errors.js';
import type { LimitCounter, LimitSelection } from '#src/features/index.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import { type ApplianceCall, command, optionalProject, projectCommand } from '../line/command.js';
import { inGroup } from '../line/options.js';
import { usageError } from '../terminal/exit.js';
import { Lines } from '../terminal/lines.js';
import { columns } from '../terminal/table.js';

const selection = inGroup('Selection', [
  { flag: '--ip', value: 'ADDRESS', summary: 'only the counters of this address' },
  { flag: '--user', value: 'USER', summary: 'only the counters of this user: id or email address' },
]);
const inMemory = (done: string) =>
  `Note: the classes data, refused and operations are counted in the memory of the server processes. Their counters are not ${done} here; a restart resets them.`;

const show = command({
  path: 'limits show',
  summary: 'Shows the classes of rate limits and, with --project, the counters in use',
  options: [optionalProject('show the counters of this project too'), ...selection],
  examples: ['svc limits show', 'svc limits show --project shop --user ada@example.com --json'],
  run: async (call) => {
    const { runtime, features } = call;
    const rates = features.limits.rates();
    const classes = columns(
      ['CLASS', 'PER', 'LIMIT', 'COUNTS'],
      rates.map((rate) => [rate.class, rate.kind, `${rate.count}/${rate.seconds}s`, rate.summary]),
      { sentences: true },
    );
    if (!call.args.isGiven('--project')) {
      if (selection.some(({ flag }) => call.args.isGiven(flag)))
        throw usageError('--ip and --user select counters of a project.', 'add --project ID; svc project list');
      return {
        value: { classes: rates },
        text: classes,
        next: 'svc limits show --project ID shows the counters in use',
      };
    }
    const counters = await features.limits.list(runtime.db, await selectionOf(call));
    call.output.note(inMemory('shown'));
    return {
      value: { limits: counters.map(toLimit), classes: rates },
      text: Lines.parts([
        classes,
        columns(
          ['CLASS', 'KEY', 'COUNT', 'LIMIT', 'RESET'],
          counters.map(toLimit).map((one) => [one.class, one.key, `${one.count}`, `${one.limit}`, one.resetAt]),
        ),
      ]),
    };
  },
});

const reset = projectCommand({
  path: 'limits reset',
  summary: 'Sets the counters of a project to zero: all of them, or those of an address or a user',
  options: [...selection],
  examples: ['svc limits reset --project shop --user ada@example.com', 'svc limits reset --project shop --json'],
  run: async (call) => {
    const { runtime, features } = call;
    const chosen = await selectionOf(call);
    const limits = (await features.limits.list(runtime.db, chosen)).map(toLimit);
    const count = await call.work(chosen.projectId, (unit) => features.limits.reset(unit, chosen));
    call.output.note(inMemory('reset'));
    return { value: { limits, reset: count }, text: `Counters reset: ${count}` };
  },
});

/** `svc limits …` */
export const limitsCommands = [show, reset];

async function selectionOf({ args, features, findProject }: ApplianceCall): Promise<LimitSelection> {
  const project = await findProject();
  const [address, user] = [args.text('--ip'), args.text('--user')];
  if (address !== undefined && user !== undefined)
    throw usageError('--ip and --user cannot be combined.', 'give only one of them');
  if (address !== undefined && isIP(address) === 0) throw usageError(`--ip must be an IP address; it is ${address}.`);
  if (address !== undefined) return { projectId: project.id, address };
  if (user === undefined) return { projectId: project.id };
  const found = await features.users.getByIdOrEmail(project.id, user).catch((error: unknown) => {
    // Login attempts are also counted for addresses without an account.
    if (error instanceof Failure && error.type === 'user_not_found' && user.includes('@')) return { email: user };
    throw error;
  });
  return { projectId: project.id, user: found };
}

function toLimit({ class: name, key, count, limit, resetAt }: LimitCounter) {
  return { class: name, key, count, limit, resetAt: instantOf(resetAt) };
}

import { Failure } from '#src/contract/errors.js';
import type { LimitCounter, LimitSelection } from '#src/features/index.js';
import { instantOf } from '#src/platform/clock.js';
import { type ApplianceCall, command, projectOption } from '../command.js';
import { usageError } from '../exit.js';
import { columns } from '../output.js';

const selection = [
  projectOption,
  { flag: '--ip', value: 'ADDRESS', summary: 'only the counters of this address', group: 'Selection' },
  { flag: '--user', value: 'USER', summary: 'only those of this user: id or e-mail address', group: 'Selection' },
] as const;
const inMemory =
  'The class data is counted in the memory of each server process: it is not among the counters, and a restart resets it.';

const show = command({
  path: 'limits show',
  summary: 'Shows the rate limits and the counters in use',
  options: selection,
  examples: ['svc limits show --project shop', 'svc limits show --project shop --user ada@example.com --json'],
  needs: 'appliance',
  run: async (call) => {
    const { platform, features } = call.appliance;
    const counters = await features.limits.list(platform.db, await selectionOf(call));
    const rates = features.limits.rates();
    call.output.note(inMemory);
    return {
      value: { limits: counters.map(toLimit), classes: rates },
      text: [
        columns(
          ['CLASS', 'PER', 'LIMIT', 'COUNTS'],
          rates.map((rate) => [rate.class, rate.kind, `${rate.count}/${rate.seconds}s`, rate.summary]),
        ),
        columns(
          ['CLASS', 'KEY', 'COUNT', 'LIMIT', 'RESET'],
          counters.map(toLimit).map((one) => [one.class, one.key, `${one.count}`, `${one.limit}`, one.resetAt]),
        ),
      ].join('\n\n'),
    };
  },
});

const reset = command({
  path: 'limits reset',
  summary: 'Sets counters back to zero: those of an address, of a user, or all of the project',
  options: selection,
  examples: ['svc limits reset --project shop --user ada@example.com', 'svc limits reset --project shop --json'],
  needs: 'appliance',
  run: async (call) => {
    const { platform, features } = call.appliance;
    const chosen = await selectionOf(call);
    const limits = (await features.limits.list(platform.db, chosen)).map(toLimit);
    const count = await platform.db.work(call.by(chosen.projectId), (unit) => features.limits.reset(unit, chosen));
    call.output.note(inMemory);
    return { value: { limits, reset: count }, text: `Counters set back: ${count}` };
  },
});

/** `svc limits …` */
export const limitsCommands = [show, reset];

async function selectionOf({ typed, appliance: { platform, features } }: ApplianceCall): Promise<LimitSelection> {
  const project = await features.projects.get(platform.db, typed.required('--project'));
  const [address, user] = [typed.text('--ip'), typed.text('--user')];
  if (address !== undefined && user !== undefined) throw usageError('--ip and --user exclude each other.', 'give one');
  if (address !== undefined) return { projectId: project.id, address };
  if (user === undefined) return { projectId: project.id };
  const found = await features.users.find(project, user).catch((error: unknown) => {
    // Logins are counted for addresses that nobody has, too.
    if (error instanceof Failure && error.type === 'user_not_found' && user.includes('@')) return { email: user };
    throw error;
  });
  return { projectId: project.id, user: found };
}

function toLimit({ class: name, key, count, limit, resetAt }: LimitCounter) {
  return { class: name, key, count, limit, resetAt: instantOf(resetAt) };
}

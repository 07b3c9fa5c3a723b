// How a finding can be made again: with as little as it takes, and without secrets.
import { copyOf, type Plan, type Spoil } from './plan.js';
import type { Outgoing } from './wire.js';

const mostTries = 30;

/** Applies spoils to a copy. */
export function spoiled(plan: Plan, spoils: readonly Spoil[]): Plan {
  const copy = copyOf(plan);
  for (const spoil of spoils) spoil.apply(copy);
  return copy;
}

/** The least of a request that still shows the problem; the request as it was, where it does not show again. */
export async function leastOf(
  plan: Plan,
  spoils: readonly Spoil[],
  shows: (plan: Plan) => Promise<boolean>,
): Promise<Plan> {
  const whole = spoiled(plan, spoils);
  let tries = 0;
  const still = async (candidate: Plan) => ++tries < mostTries && (await shows(candidate));
  let least = whole;
  for (const few of [[], ...spoils.map((spoil) => [spoil])]) {
    const candidate = spoiled(plan, few);
    if (!(await still(candidate))) continue;
    least = candidate;
    break;
  }
  for (const candidate of smaller(least)) {
    const tried = candidate(least);
    if (await still(tried)) least = tried;
  }
  return least;
}

/** Ways to leave one thing out. */
function smaller(plan: Plan): ((least: Plan) => Plan)[] {
  const value = plan.body?.value;
  const isPlain = typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  return [
    ...plan.query.map((chosen) => (least: Plan) => ({ ...least, query: least.query.filter((one) => one !== chosen) })),
    ...plan.headers.map((chosen) => (least: Plan) => ({
      ...least,
      headers: least.headers.filter((one) => one !== chosen),
    })),
    ...(isPlain ? Object.keys(value) : []).map((name) => (least: Plan) => {
      const { [name]: _, ...rest } = Object(least.body?.value);
      return { ...least, body: { value: rest } };
    }),
  ];
}

/** Prints a request: its line, its headers with credentials named only, and its body, long runs shortened. */
export function printRequest({ method, target, headers, body, chunked }: Outgoing): string {
  const lines = headers.map(
    ([name, value]) => `${name}: ${isSecret(name) && value !== '' ? `<${value.length} characters>` : shortened(value)}`,
  );
  const text = body === undefined ? '' : shortened(body.toString('utf8'));
  return [
    `${method} ${shortened(target)}`,
    ...lines,
    ...(chunked ? ['Transfer-Encoding: chunked'] : []),
    '',
    text,
  ].join('\n');
}

const isSecret = (name: string): boolean => /^x-\w+-(session|key|jwt)$|^cookie$/i.test(name);

function shortened(text: string): string {
  const runs = text.replace(
    /(.{1,6}?)\1{20,}/gsu,
    (run, unit: string) => `${unit}…×${Math.round(run.length / unit.length)}`,
  );
  return runs.length > 1500 ? `${runs.slice(0, 1500)}… (${text.length} characters)` : runs;
}

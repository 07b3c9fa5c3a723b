// What is done to a right request so that it is not right any more.
import { createRandom, type Random } from '../documents/random.js';
import { hostileStructure, hostileText, hostileValue } from './hostile-values.js';
import { Doubled } from './json-text.js';
import { encodeText, type Plan, type Spoil, type Workshop } from './plan.js';
import { transportSpoils } from './transport-spoils.js';

type Doer = (plan: Plan, random: Random, workshop: Workshop) => void;
type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** A place within a body: an object or list, and what is looked at in it. */
type Place = { readonly holder: Json | unknown[]; readonly at: string | number };

function placesOf(value: unknown): Place[] {
  if (Array.isArray(value)) return value.flatMap((inner, at) => [{ holder: value, at }, ...placesOf(inner)]);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([at, inner]) => [{ holder: value, at }, ...placesOf(inner)]);
}

const get = ({ holder, at }: Place): unknown => Reflect.get(holder, at);
const set = ({ holder, at }: Place, value: unknown): void => void Reflect.set(holder, at, value);

/** Changes one place of the body; nothing where it has none. */
const inBody =
  (change: (place: Place, random: Random, workshop: Workshop) => void): Doer =>
  (plan, random, workshop) => {
    const places = placesOf(plan.body?.value);
    if (places.length > 0) change(random.pick(places), random, workshop);
  };

const inQuery =
  (change: (plan: Plan, at: number, random: Random) => void): Doer =>
  (plan, random) => {
    if (plan.query.length === 0) plan.query.push([random.pick(plan.operation.query)?.name ?? 'queries', '']);
    change(plan, random.below(plan.query.length), random);
  };

const withQuery = (plan: Plan) => plan.operation.query.length > 0;

/** Places of a body that an entry may be repeated to; building a larger one keeps the attack itself busy, and its requests go unanswered. */
const largestBody = 200_000;

const bodySpoils: Readonly<Record<string, Doer>> = {
  'another value': inBody((place, random) => set(place, hostileValue(random))),
  'another text': inBody((place, random) => set(place, hostileText(random))),
  'longer text': inBody((place, random) => set(place, `${get(place)}${hostileText(random)}`)),
  null: inBody((place) => set(place, null)),
  'a list for a value': inBody((place) => set(place, [get(place)])),
  'an object for a value': inBody((place) => set(place, { value: get(place) })),
  'text for a value': inBody((place) => set(place, String(get(place)))),
  'a value for a list': inBody((place) => {
    const value = get(place);
    if (Array.isArray(value)) set(place, value[0]);
  }),
  'no member': inBody(({ holder, at }) => void Reflect.deleteProperty(holder, at)),
  'an entry many times': (plan, random) => {
    const places = placesOf(plan.body?.value);
    const lists = places.filter((place) => Array.isArray(get(place)));
    if (lists.length === 0) return;
    const [place, length] = [random.pick(lists), random.pick([2, 26, 101, 1001])];
    // The entries are one value: what is done to one of them is done to all, and lists within lists would become endless.
    if (places.length * length > largestBody) return;
    const [first] = get(place) as unknown[];
    set(
      place,
      Array.from({ length }, () => first),
    );
  },
  'another id': inBody((place, random, { pool }) => set(place, pool.foreign(random))),
  'an extra member': (plan, random) => {
    if (isObject(plan.body?.value)) plan.body.value[hostileText(random)] = hostileValue(random);
  },
  'a member twice': (plan, random) => {
    if (!plan.body || !isObject(plan.body.value) || Object.keys(plan.body.value).length === 0) return;
    const name = random.pick(Object.keys(plan.body.value));
    plan.body.value = new Doubled(
      plan.body.value,
      name,
      random.chance(0.5) ? plan.body.value[name] : hostileValue(random),
    );
  },
  'another body': (plan, random) => {
    plan.body = { value: random.chance(0.5) ? hostileStructure(random) : hostileValue(random) };
  },
};

const querySpoils: Readonly<Record<string, Doer>> = {
  'a parameter twice': inQuery((plan, at) => {
    const chosen = plan.query[at];
    if (chosen !== undefined) plan.query.push([chosen[0], chosen[1]]);
  }),
  'a parameter many times': inQuery((plan, at, random) => {
    const [name, value] = plan.query[at] ?? ['', ''];
    // What the head of a request can hold.
    const room = Math.floor((12_000 - plan.query.join().length) / `${name},${value},`.length);
    for (let count = Math.min(random.pick([99, 100, 101, 400]), room); count > 0; count--)
      plan.query.push([name, value]);
  }),
  'another parameter value': inQuery((plan, at, random) => {
    const chosen = plan.query[at];
    if (chosen !== undefined) chosen[1] = encodeText(hostileText(random)).slice(0, 12_000);
  }),
  'a raw parameter value': inQuery((plan, at, random) => {
    const chosen = plan.query[at];
    if (chosen !== undefined)
      chosen[1] += random.pick(['%', '%0', '%ff%fe', '%00', '%ED%A0%80', '+', '%C0%AF', '=', '&', ';']);
  }),
  'another parameter name': inQuery((plan, at, random) => {
    const chosen = plan.query[at];
    const forms = ['[', ']', '[0]', '[99999999]', '[a]', '[][]', '.a', '[__proto__]'];
    if (chosen !== undefined)
      chosen[0] = random.chance(0.7) ? chosen[0].replace('[]', '') + random.pick(forms) : '__proto__';
  }),
};

const pathSpoils: Readonly<Record<string, Doer>> = {
  'another id in the path': (plan, random, { pool }) => replaceSegment(plan, random, encodeText(pool.foreign(random))),
  'another text in the path': (plan, random) =>
    replaceSegment(plan, random, encodeText(hostileText(random)).slice(0, 8000)),
  'a raw text in the path': (plan, random) =>
    replaceSegment(
      plan,
      random,
      random.pick(['%', '%2', '%zz', '%00', '%ff', '%2F', '%5C', '..', '.', '', ';a=b', '%ED%A0%80', 'a'.repeat(37)]),
    ),
  'another end of the path': (plan, random) => {
    plan.path += random.pick(['/', '//', '/.', '/..', '%20', '/nothing', '.json', ';x', '%00']);
  },
};

function replaceSegment(plan: Plan, random: Random, text: string): void {
  const segments = plan.path.split('/');
  const found = segments.map((_, at) => at).filter((at) => plan.operation.template.split('/')[at - 1]?.startsWith('{'));
  const at = found.length > 0 ? random.pick(found) : segments.length - 1;
  segments[at] = text;
  plan.path = segments.join('/');
}

/** So many things to do to a request, one at least, most often few. */
export function spoilsFor(workshop: Workshop, plan: Plan): Spoil[] {
  const { random } = workshop;
  const kinds = [
    ...(plan.body === undefined ? [] : [bodySpoils, bodySpoils, bodySpoils]),
    ...(withQuery(plan) ? [querySpoils, querySpoils] : []),
    ...(plan.operation.pathNames.length > 0 ? [pathSpoils] : []),
    transportSpoils,
  ];
  const count = random.pick([1, 1, 1, 2, 2, 3, 4]);
  return Array.from({ length: count }, () => {
    const [name, act] = random.pick(Object.entries(random.pick(kinds)));
    const seed = random.below(2 ** 31);
    // What is taken from the pool now may be gone later; the spoil keeps it by its seed and that of the pool's first answer.
    const chosen = workshop.pool.foreign(random);
    const pool = { ...workshop.pool, foreign: () => chosen };
    return { name, apply: (changed) => act(changed, createRandom(seed), { ...workshop, pool }) };
  });
}

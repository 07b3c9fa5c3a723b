// Random queries over the collection of `rows.ts`, most of them near to what is there.
import type { Row, Total, WireQuery } from './evaluator.js';
import type { Random } from './random.js';
import { attributes, authors, aValue, type Key, searched } from './rows.js';

const keys = Object.keys(attributes) as Key[];
const arrays = keys.filter((key) => 'array' in attributes[key]);
const scalars = keys.filter((key) => !arrays.includes(key));
const texts = ['title', 'word', 'mail', 'site', 'address', 'kind', 'name', 'body', 'story', 'scroll'] as const;
const system = ['$id', '$sequence', '$createdAt', '$updatedAt'] as const;
const containing = ['contains', 'containsAny', 'containsAll', 'notContains'] as const;
const comparisons = ['notEqual', 'lessThan', 'lessThanEqual', 'greaterThan', 'greaterThanEqual'];

/** What a list is asked. */
export interface Asked {
  readonly queries: readonly WireQuery[];
  readonly total: Total;
}

/** Makes lists to ask about rows. */
export function createGenerator(random: Random, rows: readonly Row[]) {
  const some = <T>(most: number, make: () => T): T[] => Array.from({ length: 1 + random.below(most) }, make);

  /** A value as a client may write it: from a row, from elsewhere, or beside one of a row. */
  const value = (key: string): unknown => {
    const stored = random.pick(rows)[key] ?? null;
    const known = stored !== null && typeof stored === 'object' ? (stored[0] ?? null) : stored;
    const own = keys.find((one) => one === key);
    if (known === null || (own !== undefined && random.chance(0.2)))
      return own === undefined ? known : aValue(random, own);
    if (typeof known === 'bigint' && random.chance(0.3)) return within64(known + BigInt(random.below(3) - 1));
    if (key === 'at' || key === 'moments') return asWritten(String(known));
    return known;
  };
  const asWritten = (instant: string): string => {
    const form = random.below(4);
    if (form === 0) return instant.replace('+00:00', 'Z');
    if (form === 1) return instant.replace('+00:00', '');
    if (form === 2 && !/^(0001|9999)/.test(instant)) {
      const shifted = new Date(Date.parse(instant) + 2 * 3_600_000).toISOString();
      return shifted.replace('Z', '+02:00');
    }
    return form === 3 ? instant.slice(0, 10) : instant;
  };
  /** Part of a text, with the case of some letters turned. */
  const part = (key: string): string => {
    const characters = [...String(value(key))];
    const from = random.below(characters.length + 1);
    const cut = random.chance(0.7) ? characters.slice(from, from + 1 + random.below(4)) : characters;
    const turned = cut.map((one) => (random.chance(0.3) ? swapCase(one) : one)).join('');
    return random.chance(0.1) ? turned + random.pick(['%', '_', '!', '\\', '']) : turned;
  };

  /** Words of texts, most of them of one text, in another order, case and form; sometimes none. */
  const search = (): WireQuery => {
    const attribute = random.pick(searched);
    const found = String(value(attribute)).match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
    const asked = found.filter(() => random.chance(0.7)).reverse();
    if (random.chance(0.15)) asked.push(random.pick(['ada', 'nowhere', 'ΩMEGA', 'SS', 'é']));
    const form = random.pick(['NFC', 'NFD'] as const);
    const text = asked
      .map((word) => (random.chance(0.3) ? swapCase(word) : word).normalize(form))
      .join(random.pick([' ', '-', '%']));
    return { method: random.pick(['search', 'notSearch']), attribute, values: [text] };
  };
  /** Conditions on the one document that another is related to. */
  const related = (): WireQuery => {
    const attribute = 'author';
    const method = random.pick(['equal', 'notEqual', 'isNull', 'isNotNull']);
    if (method.startsWith('is')) return { method, attribute };
    const one = () => random.pick([...authors, 'nobody']);
    return { method, attribute, values: method === 'equal' ? some(3, one) : [one()] };
  };

  const filter = (depth: number): WireQuery => {
    if (depth < 3 && random.chance(0.2)) {
      const values = [filter(depth + 1), ...some(2, () => filter(depth + 1))];
      return { method: random.pick(['and', 'or']), values };
    }
    const attribute = random.chance(0.1) ? random.pick(system) : random.pick(scalars);
    if (random.chance(0.1)) return related();
    if (random.chance(0.12)) return search();
    const kind = random.below(10);
    if (kind === 0 && random.chance(0.3))
      return { method: random.pick(['exists', 'notExists']), values: some(2, () => random.pick(keys)) };
    if (kind === 0) return { method: random.pick(['isNull', 'isNotNull']), attribute: random.pick(keys) };
    if (kind <= 2)
      return { method: 'equal', attribute, values: some(random.chance(0.5) ? 1 : 4, () => value(attribute)) };
    if (kind <= 4) return { method: random.pick(comparisons), attribute, values: [value(attribute)] };
    if (kind === 5) {
      const method = random.pick(['between', 'notBetween']);
      return { method, attribute, values: [value(attribute), value(attribute)] };
    }
    if (kind === 6) {
      const list = random.pick(arrays);
      const method = random.pick(containing);
      return { method, attribute: list, values: some(3, () => value(list)) };
    }
    const text = random.chance(0.1) ? '$id' : random.chance(0.5) ? 'title' : random.pick(texts);
    const method = random.pick(['startsWith', 'endsWith', 'notStartsWith', 'notEndsWith', ...containing]);
    const isContaining = containing.some((one) => one === method);
    return { method, attribute: text, values: isContaining ? some(2, () => part(text)) : [part(text)] };
  };

  const order = (): WireQuery => ({
    method: random.pick(['orderAsc', 'orderDesc']),
    attribute: random.chance(0.15) ? random.pick(system) : random.pick([...scalars, 'rank', 'word', 'flag']),
  });
  const cursor = (): WireQuery => ({
    method: random.pick(['cursorAfter', 'cursorBefore']),
    values: [random.chance(0.02) ? 'no-such-row' : random.pick(rows).$id],
  });
  const select = (): WireQuery => ({
    method: 'select',
    values: random.chance(0.1)
      ? ['*']
      : [...new Set(some(4, () => random.pick<string>([...keys, 'author.name', '$id', '$createdAt'])))],
  });

  return (): Asked => {
    const queries = random.chance(0.2) ? [] : some(random.chance(0.7) ? 1 : 3, () => filter(1));
    if (random.chance(0.7)) queries.push(...some(3, order));
    if (random.chance(0.6))
      queries.push({ method: 'limit', values: [1 + random.below(random.chance(0.8) ? 12 : 300)] });
    if (random.chance(0.2)) queries.push({ method: 'offset', values: [random.below(random.chance(0.8) ? 10 : 300)] });
    if (random.chance(0.4)) queries.push(cursor());
    if (random.chance(0.3)) queries.push(select());
    // Of two limits, offsets or cursors the first one counts.
    if (random.chance(0.02))
      queries.push({ method: 'limit', values: [3] }, { method: 'offset', values: [1] }, cursor());
    return { queries, total: random.pick(['true', 'true', 'false', 'exact']) };
  };
}

function swapCase(letter: string): string {
  return letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
}

function within64(whole: bigint): bigint {
  return BigInt.asIntN(64, whole) === whole ? whole : 0n;
}

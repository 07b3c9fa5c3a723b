// Random choices that repeat: the same seed gives the same data and the same queries on either database.

/** The seed of this run; SVC_TEST_SEED replaces it. */
export const seed = Number(process.env.SVC_TEST_SEED ?? 19_790_503);

/** A source of choices. */
export interface Random {
  /** A whole number from 0, below `end`. */
  below(end: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
}

/** Creates a source of choices; equal seeds choose alike. The generator is mulberry32. */
export function createRandom(start: number): Random {
  let state = start >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end: number) => Math.floor(next() * end);
  return {
    below,
    chance: (probability) => next() < probability,
    pick: (list) => {
      const chosen = list[below(list.length)];
      if (chosen === undefined) throw new Error('nothing to choose from');
      return chosen;
    },
  };
}

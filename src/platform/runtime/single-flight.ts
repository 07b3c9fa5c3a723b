/** Runs a function, unless a run with the same key is active: then the caller shares that run and its result. */
export type SingleFlight<T> = (run: () => Promise<T>, key?: string) => Promise<T>;

/** Creates a group of runs, with at most one active run of each key. Results are not cached: the next call starts a new run. */
export function createSingleFlight<T>(): SingleFlight<T> {
  const active = new Map<string, Promise<T>>();
  return (run, key = '') => {
    const shared = active.get(key) ?? run().finally(() => active.delete(key));
    active.set(key, shared);
    return shared;
  };
}

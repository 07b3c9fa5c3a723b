/** A lookup by key that shares statements with others. */
export type Lookup<V> = (key: string) => Promise<V | undefined>;

/**
 * Joins lookups into as few statements as possible: those of one turn of the event loop go together, and those that come while a
 * statement is under way form the next one. Nothing is remembered: each lookup is answered by a statement begun after it was asked for,
 * so what was revoked before a request arrived is not seen by it. A statement that fails fails its own lookups only.
 */
export function createLookup<V>(load: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>): Lookup<V> {
  interface Waiting {
    readonly resolve: (value: V | undefined) => void;
    readonly reject: (error: unknown) => void;
  }
  let waiting = new Map<string, Waiting[]>();
  let busy = false;

  const run = async (): Promise<void> => {
    const batch = waiting;
    waiting = new Map();
    try {
      const found = await load([...batch.keys()]);
      for (const [key, askers] of batch) for (const { resolve } of askers) resolve(found.get(key));
    } catch (error) {
      for (const askers of batch.values()) for (const { reject } of askers) reject(error);
    }
    if (waiting.size > 0) setImmediate(run);
    else busy = false;
  };
  return (key) =>
    new Promise((resolve, reject) => {
      const askers = waiting.get(key);
      if (askers === undefined) waiting.set(key, [{ resolve, reject }]);
      else askers.push({ resolve, reject });
      if (busy) return;
      busy = true;
      setImmediate(run);
    });
}

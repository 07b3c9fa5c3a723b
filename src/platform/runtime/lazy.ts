/** A value that is created on first use. */
interface Lazy<T> {
  /** Returns the same value to every caller. */
  get(): Promise<T>;
  /** True after the first `get`. */
  isMade(): boolean;
}

/** Defers `make` until the first use. Meant for packages that most processes never need, because loading them costs time and memory. */
export function lazy<T>(make: () => Promise<T>): Lazy<T> {
  let made: Promise<T> | undefined;
  return {
    get: () => {
      made ??= make();
      return made;
    },
    isMade: () => made !== undefined,
  };
}

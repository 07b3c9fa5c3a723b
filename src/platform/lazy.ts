/** Something that is made when it is first needed. */
interface Lazy<T> {
  /** The same one for every caller. */
  get(): Promise<T>;
  /** Whether anybody has needed it yet. */
  isMade(): boolean;
}

/** Puts off the making; for packages that most starts can do without, as loading them costs time and memory. */
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

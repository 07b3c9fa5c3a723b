/** Shortest time between two reports of the same recurring failure, in milliseconds. */
const againMs = 60_000;

/** Keeps the log readable while something fails repeatedly. */
export interface Notice {
  /** True if the failure should be reported: once while it lasts, and at most once a minute if it recurs. */
  isNews(trouble: string): boolean;
  /** The operation works again. */
  over(): void;
}

/** Creates a notice without reports so far. */
export function createNotice(): Notice {
  /** Time of the last report of each failure, on the clock of `performance`. The names are classes and codes, so there are only a few. */
  const toldAt = new Map<string, number>();
  let lasting = '';
  return {
    isNews: (trouble) => {
      const now = performance.now();
      const isNews = trouble !== lasting && now - (toldAt.get(trouble) ?? Number.NEGATIVE_INFINITY) >= againMs;
      lasting = trouble;
      if (isNews) toldAt.set(trouble, now);
      return isNews;
    },
    over: () => {
      lasting = '';
    },
  };
}

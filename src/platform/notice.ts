/** A trouble that comes and goes is told this often at most. */
const againMs = 60_000;

/** Keeps the log readable while something fails over and over. */
export interface Notice {
  /** Whether this trouble is to be told: once while it lasts, and once a minute where it comes and goes. */
  isNews(trouble: string): boolean;
  /** It works again. */
  over(): void;
}

/** Creates a notice, with nothing told yet. */
export function createNotice(): Notice {
  /** When each trouble was told last, on the clock of `performance`; their names are classes and codes, so they are few. */
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

/** Finds out whether a file has its dumps from beginning to end. */
interface EndCheck {
  /** Adds a line outside of rows. Statements within a text or the body of a function do not count. */
  add(line: string, isQuoted: boolean): void;
  /** Why the file is not whole, with the part that is cut; undefined for a whole file. */
  problem(): string | undefined;
}

const begin = '-- PostgreSQL database dump';
/** The first statement of every dump, also of `supabase db dump`, which removes comments. */
const firstStatement = 'SET statement_timeout = 0;';
/** The last line of `pg_dump`, and of `supabase db dump`. */
const ends = new Set(['-- PostgreSQL database dump complete', 'RESET ALL;']);

/** Creates the check of a file with one dump or several, one after the other. */
export function createEndCheck(): EndCheck {
  let dumps = 0;
  let open: 'none' | 'header' | 'statements' = 'none';
  let cut: number | undefined;
  return {
    add: (line, isQuoted) => {
      if (isQuoted && !line.startsWith('-- ')) return;
      if (ends.has(line)) open = 'none';
      else if (line === begin || (line === firstStatement && open !== 'header')) {
        if (open !== 'none') cut ??= dumps;
        dumps += 1;
        open = line === begin ? 'header' : 'statements';
      } else if (line === firstStatement) open = 'statements';
    },
    problem: () => {
      const first = cut ?? (open === 'none' ? undefined : dumps);
      if (first === undefined)
        return dumps === 0 ? 'It has no line "-- PostgreSQL database dump complete".' : undefined;
      const which = dumps === 1 ? 'The dump' : `Dump ${first} of ${dumps} in it`;
      return `${which} ends without the line "-- PostgreSQL database dump complete".`;
    },
  };
}

/** Last known state of the database: whether it accepts writes. */
export interface Writability {
  isWritable(): boolean;
  /** Reports a refused write: the database is read-only or full, or its disk fails. */
  refused(code: string): void;
  /** Reports a successful write. */
  accepted(): void;
  /** Reports that the cause of this code is gone. */
  lifted(code: string): void;
}

/**
 * The last refusal must be this old before writes count as accepted again. A disk that is nearly full accepts one write and refuses the
 * next.
 */
const calmMs = 10_000;

/** Tracks whether the database accepts writes. Calls `onChange` when that changes, with the code of the refusal. */
export function createWritability(onChange: (isWritable: boolean, code: string) => void): Writability {
  let refusal: { readonly code: string; readonly at: number } | undefined;
  const restore = ({ code }: { readonly code: string }): void => {
    refusal = undefined;
    onChange(true, code);
  };
  return {
    isWritable: () => refusal === undefined,
    refused: (code) => {
      const isNew = refusal === undefined;
      refusal = { code, at: performance.now() };
      if (isNew) onChange(false, code);
    },
    accepted: () => {
      if (refusal !== undefined && performance.now() - refusal.at >= calmMs) restore(refusal);
    },
    lifted: (code) => {
      if (refusal?.code === code) restore(refusal);
    },
  };
}

/** Whether the database takes writes, as far as is known. */
export interface Writability {
  isWritable(): boolean;
  /** A write was refused because the database is read-only, full, or its disk fails. */
  refused(code: string): void;
  /** Something was written. */
  accepted(): void;
  /** What this code said holds no longer. */
  lifted(code: string): void;
}

/** A disk that is nearly full takes one write and refuses the next; so the last refusal has to be this old. */
const calmMs = 10_000;

/** Keeps whether the database takes writes; tells when that changes, and with which code it refused. */
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

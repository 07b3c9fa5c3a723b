/** Wakes one that waits: by a call, by the end of what it waits for, or after a time. */
interface Signal {
  /** Wakes now, or the next time somebody waits. */
  raise(): void;
  wait(maxMs: number): Promise<void>;
  isOver(): boolean;
  close(): void;
}

/** Creates a signal that is over as soon as one of the others is aborted. */
export function createSignal(ends: readonly AbortSignal[]): Signal {
  let isRaised = false;
  let wake: (() => void) | undefined;
  const isOver = () => ends.some(({ aborted }) => aborted);
  const raise = () => {
    isRaised = true;
    wake?.();
  };
  for (const end of ends) end.addEventListener('abort', raise);
  return {
    raise,
    wait: async (maxMs) => {
      if (!isRaised && !isOver())
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, maxMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      wake = undefined;
      isRaised = false;
    },
    isOver,
    close: () => {
      for (const end of ends) end.removeEventListener('abort', raise);
    },
  };
}

/** Wakes a waiting task: by a call, by an abort, or after a timeout. */
interface Signal {
  /** Wakes the waiting task, or the next one if there is none. */
  raise(): void;
  wait(maxMs: number): Promise<void>;
  isOver(): boolean;
  close(): void;
}

/** Creates a signal that is over once one of the abort signals is aborted. */
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

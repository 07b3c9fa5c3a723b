/**
 * Calls `act` until it succeeds, with the number of the attempt, from 1. After an error, `mayRetry` decides; it may wait before it returns true,
 * and it may throw another error instead.
 */
export async function retry<T>(
  act: (attempt: number) => Promise<T>,
  mayRetry: (error: unknown, attempt: number) => boolean | Promise<boolean>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await act(attempt);
    } catch (error) {
      if (!(await mayRetry(error, attempt))) throw error;
    }
  }
}

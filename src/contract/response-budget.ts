/** The result of a read with a limit of bytes: the value, or only its size if it is larger. */
export interface Measured<T> {
  readonly bytes: number;
  readonly value?: T | undefined;
}

/** The same result with its value mapped. */
export function mapMeasured<T, U>(measured: Measured<T>, make: (value: T) => U): Measured<U> {
  return { bytes: measured.bytes, value: measured.value === undefined ? undefined : make(measured.value) };
}

/**
 * The memory budget of one response, which is part of the budget of all responses of the process. Rows for a response are read through it.
 */
export interface ResponseBudget {
  /** Splits the budget among the reads of one response. */
  share(reads: number): void;
  /**
   * Reads with the bytes that are free now. If the value is larger, it reads again with the required bytes. Throws Failure
   * `general_answer_too_large`, and `general_unavailable` if other responses use the memory.
   */
  read<T>(measure: (bytes: number) => Promise<Measured<T>>): Promise<T>;
  /**
   * Returns a function that reserves memory for the response to a change before the commit; each call replaces the previous reservation. It
   * throws Failure `general_unavailable` if other responses, or those of the same caller, use the memory.
   */
  claim(): (bytes: number) => void;
  /** Counts text of the response, which may be longer than the rows read. Throws Failure `general_answer_too_large`. */
  write(text: string): void;
}

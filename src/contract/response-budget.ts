/** The bytes that one attempt to read a response may use. */
export interface ByteAllowance {
  readonly left: number;
  /** Bytes counted so far. */
  readonly counted: number;
  /** Lowers the bytes that are left. */
  limit(bytes: number): void;
  /** Ends the attempt if fewer bytes are left; the next attempt has enough. */
  require(bytes: number): void;
  /** Counts bytes of the response. */
  count(bytes: number): void;
}

/**
 * The memory budget of one response, which is part of the budget of all responses of the process. Rows for a response are read through it.
 */
export interface ResponseBudget {
  /** Splits the budget among the reads of one response. */
  share(reads: number): void;
  /**
   * Reads with the bytes that are free now. If the attempt requires more, it reads again with the required bytes. Throws Failure
   * `general_answer_too_large`, and `general_unavailable` if other responses use the memory.
   */
  read<T>(attempt: (bytes: ByteAllowance) => Promise<T>): Promise<T>;
  /**
   * Returns a function that reserves memory for the response to a change before the commit; each call replaces the previous reservation. It
   * throws Failure `general_unavailable` if other responses, or those of the same caller, use the memory.
   */
  claim(): (bytes: number) => void;
  /** Counts text of the response, which may be longer than the rows read. Throws Failure `general_answer_too_large`. */
  write(text: string): void;
}

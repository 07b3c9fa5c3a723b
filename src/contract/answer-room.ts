/** The result of a read with a limit of bytes: the value, or only its size where it is larger. */
export interface Look<T> {
  readonly bytes: number;
  readonly value?: T | undefined;
}

/** The same result with its value mapped. */
export function mapLook<T, U>(look: Look<T>, make: (value: T) => U): Look<U> {
  return { bytes: look.bytes, value: look.value === undefined ? undefined : make(look.value) };
}

/**
 * The memory that the response to one request may take, and its share of the memory for all responses of the process. Rows for a response are
 * read through it.
 */
export interface AnswerRoom {
  /** Divides the room among so many reads, of which the response is made. */
  share(reads: number): void;
  /**
   * Reads with the bytes that are free now and, where the value is larger, once more with the bytes that it needs. Throws Failure
   * `general_answer_too_large`, and `general_unavailable` where other responses leave no room.
   */
  read<T>(look: (bytes: number) => Promise<Look<T>>): Promise<T>;
  /**
   * Returns what takes room for the response to a change before that is committed, each time in place of what it took before. It throws Failure
   * `general_unavailable` where other responses, or those of the same caller, leave no room.
   */
  claim(): (bytes: number) => void;
  /** Counts text of the response, where more may be written than was read. Throws Failure `general_answer_too_large`. */
  write(text: string): void;
}

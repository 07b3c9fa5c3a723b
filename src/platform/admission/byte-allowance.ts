import type { ByteAllowance } from '#src/contract/response-budget.js';

/** Ends an attempt that needs more bytes. Only `attemptWithin` catches it. */
class TooFewBytes extends Error {
  readonly needed: number;

  constructor(needed: number) {
    super('the answer needs more bytes');
    this.name = 'TooFewBytes';
    this.needed = needed;
  }
}

/** The bytes of one attempt. */
export class Allowance implements ByteAllowance {
  #most: number;
  counted = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get left(): number {
    return this.#most - this.counted;
  }

  limit(bytes: number): void {
    this.#most = Math.min(this.#most, this.counted + bytes);
  }

  require(bytes: number): void {
    if (bytes > this.left) throw new TooFewBytes(this.counted + bytes);
  }

  count(bytes: number): void {
    this.counted += bytes;
  }
}

/** The value of an attempt with its bytes, or only the bytes that it needs. */
type Attempted<T> = { readonly bytes: number; readonly value: T } | { readonly bytes: number; readonly value?: never };

/** Makes one attempt to read within a number of bytes. */
export async function attemptWithin<T>(
  most: number,
  attempt: (bytes: ByteAllowance) => Promise<T>,
): Promise<Attempted<T>> {
  const allowance = new Allowance(most);
  try {
    const value = await attempt(allowance);
    return { bytes: allowance.counted, value };
  } catch (error) {
    if (error instanceof TooFewBytes) return { bytes: error.needed };
    throw error;
  }
}

/** What a cache may hold. */
interface LruBounds {
  /** Bytes of all entries together, as `sizeOf` and the lengths of the keys tell. */
  readonly bytes: number;
  readonly entries: number;
  /** Bytes of one entry; a larger one is not kept at all, so that it does not push out many others. */
  readonly largest: number;
}

/** What an entry of a map costs besides its key and its value. */
const entryBytes = 100;

/**
 * Keeps what was used lately, bounded in bytes and in entries. Whatever callers can fill is kept in one of these. Sizes are estimates that the
 * owner gives; the key, at two bytes a character, is added.
 */
export class Lru<V> {
  readonly #bounds: LruBounds;
  readonly #onRemoved: ((value: V) => void) | undefined;
  readonly #entries = new Map<string, { readonly value: V; readonly bytes: number; used: boolean }>();
  #bytes = 0;

  /** `onRemoved` is told each value that is not held any more. */
  constructor(bounds: LruBounds, onRemoved?: (value: V) => void) {
    this.#bounds = bounds;
    this.#onRemoved = onRemoved;
  }

  get size(): number {
    return this.#entries.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    // Only marked: to move it in the map at each use would cost far more than the use itself.
    entry.used = true;
    return entry.value;
  }

  /** Whether an entry of this size, without its key, can be kept. */
  fits(key: string, bytes: number): boolean {
    return this.#sizeOf(key, bytes) <= Math.min(this.#bounds.largest, this.#bounds.bytes);
  }

  /** Keeps a value, unless it is too large; false where it is not kept. */
  set(key: string, value: V, bytes: number): boolean {
    this.delete(key);
    if (!this.fits(key, bytes)) return false;
    const size = this.#sizeOf(key, bytes);
    this.#makeRoom(size);
    this.#entries.set(key, { value, bytes: size, used: false });
    this.#bytes += size;
    return true;
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
    this.#onRemoved?.(entry.value);
  }

  /** Removes entries, the oldest first; one that was used since it was last looked at gets another turn (the clock algorithm). */
  #makeRoom(bytes: number): void {
    // What is put back at the end comes up again in this loop, and is not marked any more then.
    for (const [key, entry] of this.#entries) {
      if (this.#bytes + bytes <= this.#bounds.bytes && this.#entries.size < this.#bounds.entries) return;
      if (!entry.used) {
        this.delete(key);
        continue;
      }
      entry.used = false;
      this.#entries.delete(key);
      this.#entries.set(key, entry);
    }
  }

  /** Removes all. */
  drain(): void {
    for (const key of [...this.#entries.keys()]) this.delete(key);
  }

  #sizeOf(key: string, bytes: number): number {
    return 2 * key.length + bytes + entryBytes;
  }
}

import { memoryShare } from '../runtime/memory.js';

/** Limits of a cache. */
interface LruBounds {
  /** Bytes of all entries together: the sizes passed to `set` and the lengths of the keys. */
  readonly bytes: number;
  readonly entries: number;
  /** Most bytes of one entry. A larger one is not cached, so that it does not evict many others. */
  readonly largest: number;
}

/** Overhead of a map entry in bytes, without its key and its value. */
const entryBytes = 100;

/**
 * A cache of recently used values, limited in bytes and in entries. Every cache that callers can fill is one of these. Sizes are estimates
 * of the owner; the key is added at two bytes a character.
 */
export class Lru<V> {
  readonly #bounds: LruBounds;
  readonly #onRemoved: ((value: V) => void) | undefined;
  readonly #entries = new Map<string, { readonly value: V; readonly bytes: number; used: boolean }>();
  #bytes = 0;

  /** `onRemoved` is called with each value that leaves the cache. The bounds are for a machine with ample memory. */
  constructor(bounds: LruBounds, onRemoved?: (value: V) => void, share = memoryShare) {
    this.#bounds = { ...bounds, bytes: bounds.bytes * share };
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
    // Only marked: moving it in the map at each use would cost far more than the use itself.
    entry.used = true;
    return entry.value;
  }

  /** True if an entry of this size, not counting its key, can be cached. */
  fits(key: string, bytes: number): boolean {
    return this.#sizeOf(key, bytes) <= Math.min(this.#bounds.largest, this.#bounds.bytes);
  }

  /** Caches a value; false if it is too large. */
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

  /** Evicts entries, oldest first. An entry used since the last check gets a second chance (the clock algorithm). */
  #makeRoom(bytes: number): void {
    // An entry moved to the end comes up again in this loop, then without its mark.
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

  /** Removes all entries. */
  drain(): void {
    for (const key of [...this.#entries.keys()]) this.delete(key);
  }

  #sizeOf(key: string, bytes: number): number {
    return 2 * key.length + bytes + entryBytes;
  }
}

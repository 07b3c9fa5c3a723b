/** How much of something each owner has, such as bytes or places, and all of them together. An owner that has nothing is not kept. */
export class Tally<Owner = string> {
  readonly #of = new Map<Owner, number>();
  #all = 0;

  /** What all owners have together. */
  get all(): number {
    return this.#all;
  }

  /** What an owner has. */
  of(owner: Owner): number {
    return this.#of.get(owner) ?? 0;
  }

  /** Those that have something, and how much. */
  entries(): [Owner, number][] {
    return [...this.#of];
  }

  /** Gives an owner more, or takes it away where `by` is negative; returns what it has then. */
  add(owner: Owner, by: number): number {
    const left = this.of(owner) + by;
    this.#all += by;
    if (left === 0) this.#of.delete(owner);
    else this.#of.set(owner, left);
    return left;
  }

  /** Gives an owner more until the function that it returns is called, which counts once. */
  take(owner: Owner, by: number): () => void {
    this.add(owner, by);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.add(owner, -by);
    };
  }
}

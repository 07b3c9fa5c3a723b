/** Amounts per owner, such as bytes or slots, and their sum. An owner with nothing has no entry. */
export class Tally<Owner = string> {
  readonly #of = new Map<Owner, number>();
  #all = 0;

  /** The sum of all owners. */
  get all(): number {
    return this.#all;
  }

  /** The amount of an owner. */
  of(owner: Owner): number {
    return this.#of.get(owner) ?? 0;
  }

  /** Owners with their amounts. */
  entries(): [Owner, number][] {
    return [...this.#of];
  }

  /** Adds to an owner's amount, or subtracts if `by` is negative; returns the new amount. */
  add(owner: Owner, by: number): number {
    const left = this.of(owner) + by;
    this.#all += by;
    if (left === 0) this.#of.delete(owner);
    else this.#of.set(owner, left);
    return left;
  }

  /** Adds to an owner's amount until the returned function is called; later calls do nothing. */
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

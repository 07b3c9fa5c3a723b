import { visible } from '#src/contract/visible.js';

/** Text of several lines, in each of which control characters are written out. Nothing else is printed as it stands. */
export class Lines {
  private readonly lines: readonly string[];

  private constructor(lines: readonly string[]) {
    this.lines = lines;
  }

  /** One string for each line. */
  static of(lines: readonly string[]): Lines {
    return new Lines(lines.map(visible));
  }

  /** A text of its own, such as a mail or a script; its tabs stay. */
  static text(text: string): Lines {
    return new Lines(text.split('\n').map((line) => line.split('\t').map(visible).join('\t')));
  }

  /** Parts with an empty line between them. */
  static parts(parts: readonly Lines[]): Lines {
    return new Lines(parts.flatMap(({ lines }, at) => (at === 0 ? lines : ['', ...lines])));
  }

  toString(): string {
    return this.lines.join('\n');
  }
}

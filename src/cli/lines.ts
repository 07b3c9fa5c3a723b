import { visible } from '#src/contract/visible.js';
import { widthOf, wrapWords } from './text-width.js';

/** What is known of where a text is printed. */
export interface View {
  /** Columns of the terminal; undefined where there is none, and nothing is cut. */
  readonly width: number | undefined;
  /** The time in milliseconds since 1970, to which times in a terminal are relative. */
  readonly now: number;
  /** Puts a text into a colour, where colours are shown. */
  readonly paint: (color: Color, text: string) => string;
}

/** The colours of levels. */
export type Color = 'red' | 'yellow' | 'cyan';

/** A line that begins with a word in a colour. */
interface MarkedLine {
  readonly mark: string;
  readonly color: Color;
  readonly text: string;
}

/** A text in lines of that width. A command stays one line: it is there to be pasted. */
function fitted(text: string, width: number | undefined): readonly string[] {
  return width === undefined || /^(fix: )?(svc|sudo) /.test(text) ? [text] : wrapWords(text, width).split('\n');
}

type Draw = (view: View) => readonly string[];

/** Text of several lines, in each of which control characters are written out. Nothing else is printed as it stands. */
export class Lines {
  private readonly drawn: readonly Draw[];

  private constructor(drawn: readonly Draw[]) {
    this.drawn = drawn;
  }

  /** One string for each line. */
  static of(lines: readonly string[]): Lines {
    return Lines.fitted(() => lines);
  }

  /** Lines that depend on where they are printed. */
  static fitted(draw: Draw): Lines {
    return new Lines([(view) => draw(view).map(visible)]);
  }

  /** Lines that each begin with a word in a colour; what does not fit goes on below the text. */
  static marked(lines: readonly MarkedLine[]): Lines {
    return new Lines([
      ({ paint, width }) =>
        lines.flatMap(({ mark, color, text }) => {
          const [first = '', ...more] = fitted(visible(text), width && width - widthOf(mark));
          return [
            `${paint(color, visible(mark))}${first}`,
            ...more.map((line) => `${' '.repeat(widthOf(mark))}${line}`),
          ];
        }),
    ]);
  }

  /** A text of its own, such as a mail or a script; its tabs stay. */
  static text(text: string): Lines {
    const lines = text.split('\n').map((line) => line.split('\t').map(visible).join('\t'));
    return new Lines([() => lines]);
  }

  /** Parts below each other. */
  static joined(parts: readonly Lines[]): Lines {
    return new Lines(parts.flatMap(({ drawn }) => drawn));
  }

  /** Parts with an empty line between them. */
  static parts(parts: readonly Lines[]): Lines {
    return new Lines(parts.flatMap(({ drawn }, at) => (at === 0 ? drawn : [() => [''], ...drawn])));
  }

  /** The text as it is printed there. */
  in(view: View): string {
    return this.drawn.flatMap((draw) => draw(view)).join('\n');
  }
}

import { visible } from '#src/contract/visible.js';
import { widthOf, wrapWords } from './text-width.js';

/** Properties of the output device. */
export interface View {
  /** Terminal columns; undefined if not a terminal, so nothing is cut. */
  readonly width: number | undefined;
  /** The current time in milliseconds since 1970. In a terminal, times are shown relative to it. */
  readonly now: number;
  /** Colours a text if colours are enabled. */
  readonly paint: (color: Color, text: string) => string;
}

/** Colours of levels. */
export type Color = 'red' | 'yellow' | 'cyan';

/** A line with a coloured prefix. */
interface MarkedLine {
  readonly mark: string;
  readonly color: Color;
  readonly text: string;
}

/** Wraps a text to a width. A command stays on one line, so that it can be copied. */
function fitted(text: string, width: number | undefined): readonly string[] {
  return width === undefined || /^(fix: )?(svc|sudo) /.test(text) ? [text] : wrapWords(text, width).split('\n');
}

type Draw = (view: View) => readonly string[];

/** Text of several lines with escaped control characters. The only other printed text is a single string, escaped likewise. */
export class Lines {
  private readonly drawn: readonly Draw[];

  private constructor(drawn: readonly Draw[]) {
    this.drawn = drawn;
  }

  /** Creates one line per string. */
  static of(lines: readonly string[]): Lines {
    return Lines.fitted(() => lines);
  }

  /** Lines that depend on the view. */
  static fitted(draw: Draw): Lines {
    return new Lines([(view) => draw(view).map(visible)]);
  }

  /** Lines with coloured prefixes. Continuation lines are indented below the text. */
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

  /** A separate text, such as a mail or a script; keeps its tabs. */
  static text(text: string): Lines {
    const lines = text.split('\n').map((line) => line.split('\t').map(visible).join('\t'));
    return new Lines([() => lines]);
  }

  /** Concatenates parts. */
  static joined(parts: readonly Lines[]): Lines {
    return new Lines(parts.flatMap(({ drawn }) => drawn));
  }

  /** Joins parts with empty lines. */
  static parts(parts: readonly Lines[]): Lines {
    return new Lines(parts.flatMap(({ drawn }, at) => (at === 0 ? drawn : [() => [''], ...drawn])));
  }

  /** Renders the text for a view. */
  in(view: View): string {
    return this.drawn.flatMap((draw) => draw(view)).join('\n');
  }
}

// JSON as hostile clients write it: with members that stand twice, and with what no JavaScript value is printed as.

/** Stands in a value for text that is printed as it is. */
export class Verbatim {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** An object that is printed with a member twice. */
export class Doubled {
  readonly value: Readonly<Record<string, unknown>>;
  readonly name: string;
  readonly again: unknown;
  constructor(value: Readonly<Record<string, unknown>>, name: string, again: unknown) {
    this.value = value;
    this.name = name;
    this.again = again;
  }
}

/** The service refuses shorter bodies for their size, so longer ones need not be printed whole. */
const maxCharacters = 64 * 2 ** 20;

/** Prints a value as JSON, verbatim parts included. Values are nested deeper than functions can call themselves. */
export function printHostile(value: unknown): string {
  const parts: string[] = [];
  let characters = 0;
  // What is still to print, the next last.
  const waiting: unknown[] = [value];
  const print = (text: string) => {
    parts.push(text);
    characters += text.length;
  };
  while (waiting.length > 0 && characters < maxCharacters) {
    const next = waiting.pop();
    if (next instanceof Verbatim) print(next.text);
    else if (next instanceof Doubled) waiting.push(...printedLater(membersOf(next.value, [next.name, next.again])));
    else if (Array.isArray(next)) waiting.push(...printedLater(elementsOf(next)));
    else if (typeof next === 'object' && next !== null) waiting.push(...printedLater(membersOf(next)));
    else print(JSON.stringify(next) ?? 'null');
  }
  return parts.join('');
}

const verbatim = (text: string) => new Verbatim(text);
const printedLater = (pieces: readonly unknown[]) => pieces.toReversed();

function elementsOf(list: readonly unknown[]): unknown[] {
  return [verbatim('['), ...list.flatMap((inner, at) => (at === 0 ? [inner] : [verbatim(','), inner])), verbatim(']')];
}

function membersOf(object: object, ...more: [string, unknown][]): unknown[] {
  const members = [...Object.entries(object).filter(([, inner]) => inner !== undefined), ...more];
  const pieces = members.flatMap(([name, inner], at) => [
    verbatim(`${at === 0 ? '' : ','}${JSON.stringify(name)}:`),
    inner,
  ]);
  return [verbatim('{'), ...pieces, verbatim('}')];
}

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

/** Prints a value as JSON, verbatim parts included. */
export function printHostile(value: unknown): string {
  if (value instanceof Verbatim) return value.text;
  if (value instanceof Doubled) {
    const inner = printHostile(value.value).slice(1, -1);
    return `{${inner}${inner === '' ? '' : ','}${JSON.stringify(value.name)}:${printHostile(value.again)}}`;
  }
  if (Array.isArray(value)) return `[${value.map(printHostile).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([, inner]) => inner !== undefined);
    return `{${members.map(([name, inner]) => `${JSON.stringify(name)}:${printHostile(inner)}`).join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

/** Formats a number with its noun: `1 document`, `2 documents`. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}

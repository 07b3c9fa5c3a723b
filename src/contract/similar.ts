/** The candidate with the smallest edit distance; undefined if half of its letters differ, because it was hardly intended. */
export function similar(word: string, candidates: readonly string[]): string | undefined {
  const [found] = [...candidates].sort((a, b) => distance(word, a) - distance(word, b));
  return found !== undefined && distance(word, found) * 2 < Math.max(word.length, found.length) ? found : undefined;
}

/** Number of letters to change, add or remove (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const above = row;
    row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (above[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(change, (above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
  }
  return row[b.length] ?? 0;
}

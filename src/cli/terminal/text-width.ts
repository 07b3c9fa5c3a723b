/** Characters with two columns in terminals: wide and full-width (Unicode Standard Annex 11) and emoji. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f000}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
const plain = /^[\x20-\x7e]*$/;
const letters = new Intl.Segmenter('en', { granularity: 'grapheme' });

const widthOfLetter = (letter: string) => (/^\p{Mark}+$/u.test(letter) ? 0 : wide.test(letter) ? 2 : 1);

/** The number of terminal columns of a text. */
export function widthOf(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const { segment } of letters.segment(text)) width += widthOfLetter(segment);
  return width;
}

/** Cuts a text to a number of columns. Marks the cut with `…` and never splits a grapheme. */
export function cutToWidth(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let [cut, used] = ['', 1];
  for (const { segment } of letters.segment(text)) {
    used += widthOfLetter(segment);
    if (used > width) break;
    cut += segment;
  }
  return `${cut}…`;
}

/** Wraps a text between words to a number of columns. Longer words are not split. */
export function wrapWords(text: string, width: number): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && widthOf(last) + 1 + widthOf(word) <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.join('\n');
}

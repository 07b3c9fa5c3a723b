/** Letters that terminals give two columns (Unicode Standard Annex 11, wide and full-width), and pictures. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f000}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
const plain = /^[\x20-\x7e]*$/;
const letters = new Intl.Segmenter('en', { granularity: 'grapheme' });

const widthOfLetter = (letter: string) => (/^\p{Mark}+$/u.test(letter) ? 0 : wide.test(letter) ? 2 : 1);

/** The columns that a text takes in a terminal. */
export function widthOf(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const { segment } of letters.segment(text)) width += widthOfLetter(segment);
  return width;
}

/** The text in at most so many columns; what is cut is replaced by `…`, and no letter is cut in two. */
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

/** The text with line breaks between words, so that a line takes at most so many columns; a longer word stays whole. */
export function wrapWords(text: string, width: number): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && widthOf(last) + 1 + widthOf(word) <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.join('\n');
}

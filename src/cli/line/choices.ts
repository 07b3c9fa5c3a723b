import { similar } from '#src/contract/similar.js';
import { type CommandError, usageError } from '../terminal/exit.js';

/** Accepted words for the two states of a switch. */
const switchWords: Readonly<Record<string, 'on' | 'off'>> = {
  on: 'on',
  yes: 'on',
  true: 'on',
  off: 'off',
  no: 'off',
  false: 'off',
};

/** Parses a switch; undefined for an unknown word. */
export function switchOf(word: string): 'on' | 'off' | undefined {
  return Object.hasOwn(switchWords, word) ? switchWords[word] : undefined;
}

/** Finds the choice that a word stands for; undefined if it is not one of them. */
export function choiceOf(word: string, choices: readonly string[]): string | undefined {
  const meant = choices.includes('on') && choices.includes('off') ? switchOf(word) : undefined;
  return meant ?? choices.find((choice) => choice === word);
}

/** Error for a word that is not an allowed value of the flag or argument. */
export function notAChoice(name: string, word: string, choices: readonly string[]): CommandError {
  const near = similar(word, choices);
  const taken = choices.length === 2 ? choices.join(' or ') : `one of ${choices.join(', ')}`;
  return usageError(
    `${name} must be ${taken}; it is ${word === '' ? 'empty' : word}.`,
    near === undefined ? '' : `did you mean ${near}?`,
  );
}

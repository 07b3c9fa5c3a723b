import { similar } from '#src/platform/config/load.js';
import { type CommandError, usageError } from './exit.js';

/** What a switch is in the commands, and the words that it may be given by. */
const switchWords: Readonly<Record<string, 'on' | 'off'>> = {
  on: 'on',
  yes: 'on',
  true: 'on',
  off: 'off',
  no: 'off',
  false: 'off',
};

/** Whether a switch is given as on or off, by any of the words for it; undefined for another word. */
export function switchOf(word: string): 'on' | 'off' | undefined {
  return Object.hasOwn(switchWords, word) ? switchWords[word] : undefined;
}

/** The choice that a word stands for; undefined where it is none of them. */
export function choiceOf(word: string, choices: readonly string[]): string | undefined {
  const meant = choices.includes('on') && choices.includes('off') ? switchOf(word) : undefined;
  return meant ?? choices.find((choice) => choice === word);
}

/** A flag or an argument, or one of the words in it, is none of what it takes. */
export function notAChoice(name: string, word: string, choices: readonly string[]): CommandError {
  const near = similar(word, choices);
  const taken = choices.length === 2 ? choices.join(' or ') : `one of ${choices.join(', ')}`;
  return usageError(
    `${name} must be ${taken}; it is ${word === '' ? 'empty' : word}.`,
    near === undefined ? '' : `did you mean ${near}?`,
  );
}

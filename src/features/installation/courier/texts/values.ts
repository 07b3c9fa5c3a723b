import { paletteOf } from '#src/platform/templates/palette.js';
import { type MessageName, messageLife } from '../model/messages.js';
import { factorName } from './factor-names.js';

/** Names chosen by users, which also appear in messages to other people. */
const chosenByPeople = ['name', 'team', 'inviter'];
const longestName = 60;

/**
 * Formats the values of a text in a language: times, durations, second factors, names that mail programs do not turn into links, and the
 * colours of the project.
 */
export function printed(
  message: MessageName,
  locals: Readonly<Record<string, string>>,
  language: string,
): Record<string, string> {
  const life = messageLife[message];
  const { color = '', ...further } = locals;
  const { fill: accent, onFill: onAccent } = paletteOf(color === '' ? null : color).light;
  const values = Object.entries(further).map(([name, value]): [string, string] => {
    if (name === 'at') return [name, printedTime(value, language)];
    if (name === 'factor') return [name, factorName(value, language)];
    return [name, chosenByPeople.includes(name) ? plainName(value) : value];
  });
  return {
    accent,
    onAccent,
    ...Object.fromEntries(values),
    ...(life === undefined ? {} : { life: printedSpan(life, language) }),
  };
}

/**
 * Removes characters that make a name look like a link. Otherwise a sign-up with another person's address could send links to that person.
 */
function plainName(text: string): string {
  const plain = text
    .replace(/[\p{Cc}\p{Cf}<>[\](){}|\\/@:]+/gu, ' ')
    .replace(/\.(?=\S)/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  const characters = [...plain];
  return characters.length > longestName ? `${characters.slice(0, longestName).join('').trimEnd()}…` : plain;
}

function printedTime(instant: string, language: string): string {
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  return `${format.format(new Date(instant))} UTC`;
}

function printedSpan(seconds: number, language: string): string {
  const isHours = seconds % 3600 === 0;
  const unit = { style: 'unit', unit: isHours ? 'hour' : 'minute', unitDisplay: 'long' } as const;
  return new Intl.NumberFormat(language, unit).format(Math.round(seconds / (isHours ? 3600 : 60)));
}

import { type MessageName, messageLife } from '../messages.js';
import { factorName } from './factor-names.js';

/** What people choose to be called goes to others too. */
const chosenByPeople = ['name', 'team', 'inviter'];
const longestName = 60;

/** The values of a text as they are printed in a language: times, spans of time, second factors, and names that cannot pass for links. */
export function printed(
  message: MessageName,
  locals: Readonly<Record<string, string>>,
  language: string,
): Record<string, string> {
  const life = messageLife[message];
  const values = Object.entries(locals).map(([name, value]): [string, string] => {
    if (name === 'at') return [name, printedTime(value, language)];
    if (name === 'factor') return [name, factorName(value, language)];
    return [name, chosenByPeople.includes(name) ? plainName(value) : value];
  });
  return { ...Object.fromEntries(values), ...(life === undefined ? {} : { life: printedSpan(life, language) }) };
}

/** A sign-up with another person's address could otherwise send them any link: mail programs make links of what looks like one. */
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

import { z } from 'zod';

type Issue = z.core.$ZodRawIssue;

const kinds: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  bigint: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};
const formats: Readonly<Record<string, string>> = {
  email: 'an email address',
  url: 'a URL',
  datetime: 'a time such as 2030-01-31T12:00:00Z',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
};
const units: Readonly<Record<string, string>> = { string: 'characters', array: 'elements', set: 'elements' };

/** The message of an issue, without the name of the value at the start of the sentence. */
function problemOf(issue: Issue): string {
  switch (issue.code) {
    case 'too_big':
      return bound(issue, issue.maximum, issue.inclusive === false ? 'less than' : 'at most');
    case 'too_small':
      return bound(issue, issue.minimum, issue.inclusive === false ? 'more than' : 'at least');
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : `must be ${kinds[issue.expected] ?? `a ${issue.expected}`}`;
    case 'invalid_value':
      return issue.values.length === 1
        ? `must be ${JSON.stringify(issue.values[0])}`
        : `must be one of ${issue.values.map(String).join(', ')}`;
    case 'invalid_format':
      return formatProblem(issue.format, 'pattern' in issue ? issue.pattern : undefined);
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return `has unknown members: ${issue.keys.join(', ')}`;
    default:
      return 'is not valid';
  }
}

function bound({ origin, exact }: Issue, value: unknown, word: string): string {
  const unit = units[String(origin)];
  const amount = `${exact === true ? 'exactly' : word} ${String(value)}`;
  return unit === undefined ? `must be ${amount}` : `must have ${amount} ${unit}`;
}

function formatProblem(format: string, pattern: string | undefined): string {
  const words = formats[format];
  if (words !== undefined) return `must be ${words}`;
  return pattern === undefined ? 'is not valid' : `must match ${pattern}`;
}

// The default for every schema without its own message; the package's messages are about TypeScript types.
z.config({ localeError: problemOf });

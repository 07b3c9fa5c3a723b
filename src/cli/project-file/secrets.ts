import { readSecretFile } from '../line/input.js';
import { usageError } from '../terminal/exit.js';
import { labelOf, secretMembers } from './changes.js';
import type { Item } from './items.js';

/** Replaces references by the secrets. An existing item keeps its secret if the reference has no value; for a new one, throws CommandError. */
export function revealed(items: readonly Item[], present: readonly Item[], environment: NodeJS.ProcessEnv): Item[] {
  const places = new Set(present.map(labelOf));
  return items.map((item) => {
    const members = Object.entries(item.members).map(([member, value]) => {
      if (!secretMembers.includes(member)) return [member, value];
      const secret = secretAt(String(value), environment);
      if (secret === undefined && !places.has(labelOf(item)))
        throw usageError(`The ${labelOf(item)} needs the secret ${value}, which is not set.`, 'set it, and try again');
      return [member, secret];
    });
    return { ...item, members: Object.fromEntries(members.filter(([, value]) => value !== undefined)) };
  });
}

function secretAt(reference: string, environment: NodeJS.ProcessEnv): string | undefined {
  const place = reference.slice(reference.indexOf(':') + 1);
  if (reference.startsWith('file:')) return readSecretFile(place, '--file');
  return environment[place] || undefined;
}

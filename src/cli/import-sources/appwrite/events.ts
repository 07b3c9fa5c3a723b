import type { everyEvent, subscribableEvents } from '#src/contract/events.js';

type Event = (typeof subscribableEvents)[number] | typeof everyEvent;

const documents: readonly Event[] = ['documentCreated', 'documentUpdated', 'documentDeleted'];
const documentEvents: Readonly<Record<string, readonly Event[]>> = {
  '': documents,
  create: ['documentCreated'],
  update: ['documentUpdated'],
  delete: ['documentDeleted'],
};
const fileEvents: Readonly<Record<string, readonly Event[]>> = {
  '': ['fileCreated', 'fileDeleted'],
  create: ['fileCreated'],
  delete: ['fileDeleted'],
};
const sessionEvents: Readonly<Record<string, readonly Event[]>> = {
  '': ['sessionCreated', 'sessionDeleted'],
  create: ['sessionCreated'],
  delete: ['sessionDeleted'],
};

/** The paths of events of Appwrite, with the events here by their last word. */
const paths: readonly (readonly [path: RegExp, events: Readonly<Record<string, readonly Event[]>>])[] = [
  [/^databases\.([^.]+)\.(?:collections|tables)\.([^.]+)\.(?:documents|rows)\.([^.]+)(?:\.(\w+))?$/, documentEvents],
  [/^tablesdb\.([^.]+)\.tables\.([^.]+)\.rows\.([^.]+)(?:\.(\w+))?$/, documentEvents],
  [/^buckets\.([^.]+)\.files\.([^.]+)(?:\.(\w+))?$/, fileEvents],
  [/^users\.([^.]+)\.sessions\.([^.]+)(?:\.(\w+))?$/, sessionEvents],
];

/** The events here that an event of Appwrite means, and whether they are sent for more than the event of Appwrite, which names ids. */
export function eventsOf(event: string): { readonly events: readonly Event[]; readonly isWider: boolean } {
  for (const [path, events] of paths) {
    const found = path.exec(event);
    if (found === null) continue;
    const parts = found.slice(1);
    const [ids, last] = [parts.slice(0, -1), parts.at(-1) ?? ''];
    return { events: events[last] ?? [], isWider: ids.some((id) => id !== '*') };
  }
  return { events: [], isWider: false };
}

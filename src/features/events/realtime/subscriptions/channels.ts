import { Failure } from '#src/contract/errors.js';

/** An action on a resource, as used in channels and event names. */
type Action = 'create' | 'update' | 'delete';

/** The channels and names of an event. */
export interface Topics {
  readonly channels: readonly string[];
  readonly names: readonly string[];
}

const id = String.raw`[\w.-]{1,36}`;
/** An id, optionally followed by an action. */
const last = String.raw`[\w.-]{1,43}`;
const knownChannel = new RegExp(
  `^(?:(?:documents|rows|files)(?:\\.(?:create|update|delete))?|(?:account|teams|memberships)(?:\\.${last})?` +
    `|databases\\.${id}\\.collections\\.${id}\\.documents(?:\\.${last})?` +
    `|(?:databases|tablesdb)\\.${id}\\.tables\\.${id}\\.rows(?:\\.${last})?` +
    `|buckets\\.${id}\\.files(?:\\.${last})?)$`,
);

/** True if a client may subscribe to this name, as events can have it as a channel. */
export function isChannel(name: string): boolean {
  return knownChannel.test(name);
}

/** Error for names that are not channels. */
export function unknownChannels(names: readonly string[]): Failure {
  const list = names.map((name) => `"${name.slice(0, 80)}"`).slice(0, 5);
  return new Failure('general_argument_invalid', { message: `There is no such channel: ${list.join(', ')}.` });
}

type Segment = readonly [collection: string, id: string];

const actions: Readonly<Record<string, Action>> = { Created: 'create', Updated: 'update', Deleted: 'delete' };

/** The channels and names of an event, from its type, resource path and changed parts. Empty for events that sockets do not send. */
export function topicsOf(type: string, resource: string | null, changed: readonly string[] = []): Topics {
  const action = actions[/[A-Z][a-z]+$/.exec(type)?.[0] ?? ''];
  const parts = resource?.split('/') ?? [];
  const segments = parts.flatMap((part, at): Segment[] => (at % 2 === 0 ? [[part, parts[at + 1] ?? '']] : []));
  const [first, , third] = segments;
  if (action === undefined || first === undefined) return { channels: [], names: [] };
  if (third !== undefined) return topicsOfDocument(segments, action);
  return { channels: channelsOf(segments, action), names: namesOf(segments, action, changed) };
}

/** Uses the names of both Appwrite APIs: collections with documents, and tables with rows. */
function topicsOfDocument(segments: readonly Segment[], action: Action): Topics {
  const [[, database] = ['', ''], [, collection] = ['', ''], [, id] = ['', '']] = segments;
  const lists = [
    `databases.${database}.collections.${collection}.documents`,
    `databases.${database}.tables.${collection}.rows`,
    `tablesdb.${database}.tables.${collection}.rows`,
  ];
  const channels = ['documents', 'rows', ...lists.flatMap((list) => [list, `${list}.${id}`])];
  const asTable: Segment[] = [
    ['databases', database],
    ['tables', collection],
    ['rows', id],
  ];
  return {
    channels: withAction(channels, action),
    names: [...new Set([...namesOf(segments, action), ...namesOf(asTable, action)])],
  };
}

function channelsOf([first = ['', ''], below]: readonly Segment[], action: Action): string[] {
  const [collection, id] = first;
  if (collection === 'users') return ['account', `account.${id}`];
  if (collection === 'buckets' && below !== undefined) return channelsOfFile(id, below[1], action);
  const [list, one] = below ?? first;
  return withAction([list, `${list}.${one}`], action);
}

function channelsOfFile(bucket: string, id: string, action: Action): string[] {
  const list = `buckets.${bucket}.files`;
  return withAction(['files', list, `${list}.${id}`], action);
}

function withAction(channels: readonly string[], action: Action): string[] {
  return [...channels, ...channels.map((channel) => `${channel}.${action}`)];
}

/**
 * All names of a change. Each id may be replaced by a wildcard. The changed part, the action and lower levels of the resource may be
 * omitted.
 */
function namesOf(segments: readonly Segment[], action: Action, changed: readonly string[] = []): string[] {
  const levels = segments.map((_, at) => wildcards(segments.slice(0, segments.length - at)));
  const own = (levels[0] ?? []).map((name) => `${name}.${action}`);
  return [...changed.flatMap((part) => own.map((name) => `${name}.${part}`)), ...own, ...levels.flat()];
}

function wildcards(segments: readonly Segment[]): string[] {
  return segments.reduce<string[]>(
    (names, [collection, id]) =>
      names.flatMap((name) => [id, '*'].map((one) => `${name}${name === '' ? '' : '.'}${collection}.${one}`)),
    [''],
  );
}

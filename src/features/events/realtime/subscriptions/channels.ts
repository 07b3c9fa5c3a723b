/** What happened to a resource, as channels and event names say it. */
type Action = 'create' | 'update' | 'delete';

/** Where an event is told, and by which names. */
export interface Topics {
  readonly channels: readonly string[];
  readonly names: readonly string[];
}

type Segment = readonly [collection: string, id: string];

const actions: Readonly<Record<string, Action>> = { Created: 'create', Updated: 'update', Deleted: 'delete' };

/** The channels and names of an event, from its type and the path of its resource; none for an event that sockets do not carry. */
export function topicsOf(type: string, resource: string | null): Topics {
  const action = actions[/[A-Z][a-z]+$/.exec(type)?.[0] ?? ''];
  const parts = resource?.split('/') ?? [];
  const segments = parts.flatMap((part, at): Segment[] => (at % 2 === 0 ? [[part, parts[at + 1] ?? '']] : []));
  const [first, , third] = segments;
  if (action === undefined || first === undefined) return { channels: [], names: [] };
  if (third !== undefined) return topicsOfDocument(segments, action);
  return { channels: channelsOf(segments, action), names: namesOf(segments, action) };
}

/** Clients of the older and of the newer interface know one change by two names. */
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

/** The names of a change: each id may be a wildcard, the action may be left out, and so may what is below a resource. */
function namesOf(segments: readonly Segment[], action: Action): string[] {
  const levels = segments.map((_, at) => wildcards(segments.slice(0, segments.length - at)));
  const [own = []] = levels;
  return [...own.map((name) => `${name}.${action}`), ...levels.flat()];
}

function wildcards(segments: readonly Segment[]): string[] {
  return segments.reduce<string[]>(
    (names, [collection, id]) =>
      names.flatMap((name) => [id, '*'].map((one) => `${name}${name === '' ? '' : '.'}${collection}.${one}`)),
    [''],
  );
}

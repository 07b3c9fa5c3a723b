import type { ServerKey, User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { EventStream, type StreamSink } from '#src/contract/event-stream.js';
import { feedLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { Reading } from '#src/contract/reading.js';
import type { ResponseBudget } from '#src/contract/response-budget.js';
import { ResponseBudgets } from '#src/platform/admission/response-budget.js';
import { readAnswer } from '#src/platform/db/answer-reader.js';
import type { Runtime } from '#src/platform/index.js';
import type { Projects } from '../../installation/index.js';
import { credentialOf, type Readers } from '../readers/index.js';
import { idsIn, toEnvelope } from '../webhooks/index.js';
import { type EventPage, everything, type Feed, type PageRequest } from './service.js';
import { createSignal } from './signal.js';
import type { StoredEvent } from './store.js';
import type { EventWatch } from './watch.js';

/** Parameters of a stream. */
interface StreamRequest {
  readonly project: Project;
  readonly actor: User | ServerKey;
  readonly reading: Reading;
  readonly filter: PageRequest['filter'];
  /** The number after which it starts. */
  readonly after: number;
  /** The number of the last event when the stream was opened. Events up to it are past. */
  readonly past: number;
}

interface Deps extends Pick<Runtime, 'db'> {
  readonly feed: Feed;
  readonly watch: EventWatch;
  readonly readers: Readers;
  readonly projects: Projects;
  /** True if a server key is still valid and may read events. */
  readonly keyCounts: (project: Project, key: ServerKey) => Promise<boolean>;
  readonly budgets: ResponseBudgets;
}

/** The position for the next page, and whether there may be one already. */
type Sent = Omit<EventPage, 'events'>;

/** Opens a stream. Calls `leave` when it ends. */
export type OpenStream = (request: StreamRequest, leave: () => void) => EventStream;

/** Live streams of events. Permissions are checked right before an event is sent. */
export function createStreams(
  { db, clock, config }: Pick<Runtime, 'db' | 'clock' | 'config'>,
  parts: Omit<Deps, 'db' | 'budgets'>,
): OpenStream {
  // A separate budget: slow readers of other responses must not delay events.
  const deps: Deps = { ...parts, db, budgets: new ResponseBudgets(clock, config.answerMaxBytes, feedLimits) };
  return (request, leave) => new EventStream((sink) => stream(deps, request, sink, leave));
}

async function stream(deps: Deps, request: StreamRequest, sink: StreamSink, leave: () => void): Promise<void> {
  const { watch } = deps;
  const signal = createSignal([sink.signal, watch.ended]);
  let isGone = false;
  const unfollow = watch.follow(request.project.id, (change) => {
    isGone ||= change === 'gone';
    signal.raise();
  });
  try {
    let { after } = request;
    // In SSE, an id without data is not an event, but the client reconnects with it if the connection is lost before the first event.
    await sink.write(`: connected\nid: ${after}\n\n`);
    while (!signal.isOver() && !isGone) {
      const sent = await send(deps, request, sink, after);
      if (sent === undefined) break;
      after = sent.cursor;
      if (!sent.more) await signal.wait(feedLimits.heartbeatMs);
    }
  } catch (error) {
    // Ends the stream on a Failure: the client reconnects with its last id. The caller reports other errors.
    if (!(error instanceof Failure)) throw error;
  } finally {
    signal.close();
    unfollow();
    leave();
  }
}

/** Sends a page. Returns undefined if the stream must end. */
async function send(deps: Deps, request: StreamRequest, sink: StreamSink, after: number): Promise<Sent | undefined> {
  const { account } = request.reading;
  const budget = deps.budgets.open({ account });
  try {
    const page = await read(deps, request, budget, after);
    if (page === undefined) return undefined;
    const { text, isLong, cursor, more } = page;
    // A short page releases its budget before the write. A long one keeps it, and a slow reader is cut off if others wait.
    if (isLong) budget.sendOver(sink);
    else budget.close();
    if (text !== '') await sink.write(text);
    return { cursor, more };
  } finally {
    budget.close();
  }
}

/** Reads the next page within its budget; undefined if the stream must end. */
async function read(
  deps: Deps,
  request: StreamRequest,
  budget: ResponseBudget,
  after: number,
): Promise<(Sent & { readonly text: string; readonly isLong: boolean }) | undefined> {
  const { db, feed, projects } = deps;
  const { filter } = request;
  const { id: projectId } = request.project;
  let looks = 0;
  const { events, cursor, more } = await readAnswer(db, { budget }, (reader) => {
    looks += 1;
    // The first attempt uses the usual size. A single larger event gets the bytes it needs.
    if (looks === 1) reader.bytes.limit(feedLimits.streamBytes);
    return feed.page(reader, projectId, { ...everything, filter, after });
  });
  const frames = await readable(deps, await projects.current(projectId), request, events);
  return frames && { text: frames.join(''), isLong: looks > 1, cursor, more };
}

/** The frames that may be sent; undefined if the credential is no longer valid. */
async function readable(
  { db, feed, readers, keyCounts }: Deps,
  project: Project,
  { actor, past }: StreamRequest,
  events: readonly StoredEvent[],
): Promise<readonly string[] | undefined> {
  if (actor.kind === 'key')
    return (await keyCounts(project, actor)) ? events.map((event) => toFrame(project, event)) : undefined;
  const shown = await readers.of(project, events);
  const credential = credentialOf(actor);
  const user = (await readers.users(project, [credential])).get(credential);
  if (user === undefined) return undefined;
  // Reads this after the permissions: a concurrent change can only remove an event from the set, never add one.
  const before = events.filter(({ sequence }) => sequence <= past);
  const current = await feed.current(db, project.id, before);
  return events.flatMap((event, at) => {
    const data = shown[at]?.(user);
    if (data === undefined) return [];
    const isWhole = event.sequence > past || current.has(event);
    return [toFrame(project, { ...event, data: isWhole ? data : idsIn(data) })];
  });
}

function toFrame(project: Project, event: StoredEvent): string {
  return `id: ${event.id}\ndata: ${toEnvelope(project.id, event)}\n\n`;
}

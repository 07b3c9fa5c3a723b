import type { ServerKey, User } from '#src/contract/actor.js';
import type { AnswerRoom } from '#src/contract/answer-room.js';
import { Failure } from '#src/contract/errors.js';
import { EventStream, type StreamSink } from '#src/contract/event-stream.js';
import { feedLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { Reading } from '#src/contract/reading.js';
import { Answers } from '#src/platform/answers.js';
import type { Runtime } from '#src/platform/index.js';
import type { Projects } from '../../../installation/index.js';
import { credentialOf, type Readers } from '../../readers/index.js';
import { toEnvelope } from '../../webhooks/index.js';
import { type EventPage, everything, type Feed, type PageRequest } from '../service.js';
import type { StoredEvent } from '../store.js';
import { createSignal } from './signal.js';
import type { EventWatch } from './watch.js';

/** What a stream is opened for. */
interface StreamRequest {
  readonly project: Project;
  readonly actor: User | ServerKey;
  readonly reading: Reading;
  readonly filter: PageRequest['filter'];
  /** The number after which it begins. */
  readonly after: number;
}

interface Deps {
  readonly feed: Feed;
  readonly watch: EventWatch;
  readonly readers: Readers;
  readonly projects: Projects;
  /** Whether a server key counts still, and may read events. */
  readonly keyCounts: (project: Project, key: ServerKey) => Promise<boolean>;
}

/** Streams of events as they happen. Whether the reader may read each is asked right before it is sent. */
export function createStreams({ db, clock, config }: Pick<Runtime, 'db' | 'clock' | 'config'>, deps: Deps) {
  const { feed, watch, readers, projects, keyCounts } = deps;
  // Not that of other answers: whose readers are slow must not hold events up.
  const rooms = new Answers(clock, config.answerMaxBytes, feedLimits);

  /** What may be sent of some events; undefined where the credential counts no more. */
  const readable = async (
    project: Project,
    actor: User | ServerKey,
    events: readonly StoredEvent[],
  ): Promise<readonly string[] | undefined> => {
    if (actor.kind === 'key')
      return (await keyCounts(project, actor)) ? events.map((event) => toFrame(project, event)) : undefined;
    const shown = await readers.of(project, events);
    const credential = credentialOf(actor);
    const user = (await readers.users(project, [credential])).get(credential);
    if (user === undefined) return undefined;
    return events.flatMap((event, at) => {
      const data = shown[at]?.(user);
      return data === undefined ? [] : [toFrame(project, { ...event, data })];
    });
  };

  /** Reads what may be sent next, in its room; undefined where the stream ends. */
  const read = async (
    { project: { id: projectId }, actor, filter }: StreamRequest,
    room: AnswerRoom,
    after: number,
  ): Promise<(Omit<EventPage, 'events'> & { readonly text: string; readonly isLong: boolean }) | undefined> => {
    let looks = 0;
    const { events, cursor, more } = await room.read((maxBytes) => {
      looks += 1;
      // A single event that is larger is read with the room that it needs.
      const bytes = looks === 1 ? Math.min(maxBytes, feedLimits.streamBytes) : maxBytes;
      return db.snapshot((snapshot) => feed.page(snapshot, projectId, { ...everything, filter, after }, bytes));
    });
    const frames = await readable(await projects.current(projectId), actor, events);
    return frames && { text: frames.join(''), isLong: looks > 1, cursor, more };
  };

  /** Sends a page, and returns the number to go on with; undefined where the stream ends. */
  const send = async (
    request: StreamRequest,
    sink: StreamSink,
    after: number,
  ): Promise<Omit<EventPage, 'events'> | undefined> => {
    const { account } = request.reading;
    const room = rooms.open({ account });
    try {
      const page = await read(request, room, after);
      if (page === undefined) return undefined;
      const { text, isLong, cursor, more } = page;
      // A reader that reads nothing keeps no room from others.
      if (isLong) room.sendOver(sink);
      else room.close();
      if (text !== '') await sink.write(text);
      return { cursor, more };
    } finally {
      room.close();
    }
  };

  return (request: StreamRequest, leave: () => void): EventStream =>
    new EventStream(async (sink) => {
      const signal = createSignal([sink.signal, watch.ended]);
      let isGone = false;
      const unfollow = watch.follow(request.project.id, (change) => {
        isGone ||= change === 'gone';
        signal.raise();
      });
      try {
        let { after } = request;
        // An id without data is no event: a client whose connection is lost before the first one comes again with it.
        await sink.write(`: connected\nid: ${after}\n\n`);
        while (!signal.isOver() && !isGone) {
          const sent = await send(request, sink, after);
          if (sent === undefined) break;
          after = sent.cursor;
          if (!sent.more) await signal.wait(feedLimits.heartbeatMs);
        }
      } catch (error) {
        // What comes next is at the id that the client has: it connects again. A defect is reported by who runs the stream.
        if (!(error instanceof Failure)) throw error;
      } finally {
        signal.close();
        unfollow();
        leave();
      }
    });
}

function toFrame(project: Project, event: StoredEvent): string {
  return `id: ${event.id}\ndata: ${toEnvelope(project.id, event)}\n\n`;
}

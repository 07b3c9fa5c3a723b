import type { User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { realtimeLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import { toWireInstant } from '#src/contract/shapes.js';
import type { Runtime } from '#src/platform/index.js';
import type { Projects } from '../../../installation/index.js';
import { everything, type Feed, type StoredEvent } from '../../feed/index.js';
import type { ReaderCredential, Readers } from '../../readers/index.js';
import { type Topics, topicsOf } from '../subscriptions/channels.js';
import { parsePayload } from '../subscriptions/queries.js';
import type { Subscription } from '../subscriptions/subscriptions.js';
import { closeCodes, type RealtimeSocket } from './socket.js';

/** What a hub uses. */
export interface HubDeps {
  readonly feed: Feed;
  readonly readers: Readers;
  readonly projects: Projects;
  /** Counts a message that was sent. */
  readonly onSent: () => void;
}

/** An event and the subscriptions that its channels reach, by socket. */
interface Told {
  readonly event: StoredEvent;
  readonly topics: Topics;
  readonly to: ReadonlyMap<RealtimeSocket, readonly Subscription[]>;
}

/** The sockets of a project, and how far they have been told. */
export class Hub {
  readonly sockets = new Set<RealtimeSocket>();
  /** The number of the last event that was told; set before the first socket is. */
  private cursor = 0;
  #isPumping = false;
  #again = false;
  readonly #projectId: string;
  readonly #runtime: Pick<Runtime, 'db' | 'answers' | 'clock' | 'log'>;
  readonly #deps: HubDeps;

  constructor(projectId: string, runtime: Pick<Runtime, 'db' | 'answers' | 'clock' | 'log'>, deps: HubDeps) {
    this.#projectId = projectId;
    this.#runtime = runtime;
    this.#deps = deps;
  }

  /** Begins with the events that have no number yet. */
  async begin(): Promise<void> {
    this.cursor = await this.#deps.feed.last(this.#runtime.db, this.#projectId);
  }

  /** Tells of every event with a new number. Events keep their order, so one call works at a time. */
  async pump(): Promise<void> {
    this.#again = true;
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      while (this.#again && this.sockets.size > 0) {
        this.#again = false;
        if (await this.#tellSome()) this.#again = true;
      }
    } catch (error) {
      // Events were removed meanwhile, or the database was restored: clients read the gap in the feed.
      if (error instanceof Failure && error.type === 'general_cursor_not_found') await this.begin().catch(() => {});
      // The cursor stands where it stood: the next look at the database tries again.
      this.#runtime.log.warn('realtime.failed', { error: error instanceof Error ? error.name : typeof error });
    } finally {
      this.#isPumping = false;
    }
  }

  /** Closes sockets whose credential counts no more: those whose time may be over, and all of them from time to time. */
  async sweep(): Promise<void> {
    const now = this.#runtime.clock.now();
    const monotonic = this.#runtime.clock.monotonic();
    const since = monotonic - realtimeLimits.recheckMs;
    const due = [...this.sockets].filter(({ user, credential, checkedAt }) => {
      if (user === undefined) return false;
      const ends = credential?.jwt === undefined ? Date.parse(user.session.expire) : credential.jwt.expires * 1000;
      return checkedAt < since || (ends <= now && checkedAt < monotonic - realtimeLimits.overdueMs);
    });
    if (due.length === 0) return;
    const project = await this.#deps.projects.current(this.#projectId);
    for (let at = 0; at < due.length; at += realtimeLimits.checkedTogether)
      await this.#check(project, due.slice(at, at + realtimeLimits.checkedTogether));
  }

  closeAll(code: number, message: string): void {
    for (const socket of [...this.sockets]) socket.close(code, message);
  }

  /** Tells of a page of events; returns whether there are more. */
  async #tellSome(): Promise<boolean> {
    const { db, answers } = this.#runtime;
    const { feed, projects } = this.#deps;
    const room = answers.open({ account: `realtime ${this.#projectId}` });
    try {
      const page = await room.read((maxBytes) =>
        db.snapshot((snapshot) =>
          feed.page(
            snapshot,
            this.#projectId,
            { ...everything, limit: realtimeLimits.page, after: this.cursor },
            maxBytes,
          ),
        ),
      );
      if (page.events.length > 0) await this.#tell(await projects.current(this.#projectId), page.events);
      this.cursor = page.cursor;
      return page.more;
    } finally {
      room.close();
    }
  }

  async #tell(project: Project, events: readonly StoredEvent[]): Promise<void> {
    const byChannel = this.#index();
    const told = events
      .map((event): Told => {
        const topics = topicsOf(event.type, event.resource);
        return { event, topics, to: subscribersOf(topics, byChannel) };
      })
      .filter(({ to }) => to.size > 0);
    const shown = await this.#deps.readers.of(
      project,
      told.map(({ event }) => event),
    );
    // Last of all, so that nothing is awaited between the answer and the sending.
    const users = await this.#check(project, this.#concerned(events, told));
    told.forEach(({ event, topics, to }, at) => {
      const messages = new Messages(event, topics);
      for (const [socket, subscriptions] of to) {
        const { credential } = socket;
        const data = shown[at]?.(credential === undefined ? undefined : users.get(credential));
        if (data === undefined || !socket.isOpen) continue;
        const message = messages.to(subscriptions, data);
        if (message !== undefined && socket.send(message)) this.#deps.onSent();
      }
    });
  }

  /** Sockets that are told something, and those of users whom an event of their account or session is about. */
  #concerned(events: readonly StoredEvent[], told: readonly Told[]): RealtimeSocket[] {
    const concerned = new Set(told.flatMap(({ to }) => [...to.keys()]));
    const userIds = new Set(events.flatMap(({ resource }) => /^users\/([^/]+)/.exec(resource ?? '')?.[1] ?? []));
    if (userIds.size > 0)
      for (const socket of this.sockets) if (userIds.has(socket.credential?.userId ?? '')) concerned.add(socket);
    return [...concerned].filter(({ credential }) => credential !== undefined);
  }

  /** The users of sockets as they are now. Closes those whose credential counts no more. */
  async #check(project: Project, sockets: readonly RealtimeSocket[]): Promise<ReadonlyMap<ReaderCredential, User>> {
    const asked = sockets.flatMap((socket) => {
      const { credential } = socket;
      return credential === undefined ? [] : [{ socket, credential }];
    });
    if (asked.length === 0) return new Map();
    const users = await this.#deps.readers.users(
      project,
      asked.map(({ credential }) => credential),
    );
    const now = this.#runtime.clock.monotonic();
    for (const { socket, credential } of asked) {
      // One that has become another user's meanwhile is told nothing of this round.
      if (socket.credential !== credential) continue;
      socket.checkedAt = now;
      if (!users.has(credential)) socket.close(closeCodes.policy, 'The session or JWT is not valid any more.');
    }
    return users;
  }

  #index(): Map<string, [RealtimeSocket, Subscription][]> {
    const byChannel = new Map<string, [RealtimeSocket, Subscription][]>();
    for (const socket of this.sockets)
      for (const subscription of socket.subscriptions.all())
        for (const channel of subscription.channels) {
          const entries = byChannel.get(channel);
          if (entries === undefined) byChannel.set(channel, [[socket, subscription]]);
          else entries.push([socket, subscription]);
        }
    return byChannel;
  }
}

function subscribersOf(
  { channels }: Topics,
  byChannel: ReadonlyMap<string, readonly [RealtimeSocket, Subscription][]>,
): Map<RealtimeSocket, Subscription[]> {
  const to = new Map<RealtimeSocket, Subscription[]>();
  for (const channel of channels)
    for (const [socket, subscription] of byChannel.get(channel) ?? []) {
      const known = to.get(socket);
      if (known === undefined) to.set(socket, [subscription]);
      else if (!known.includes(subscription)) known.push(subscription);
    }
  return to;
}

interface PrintedEvent {
  /** The message up to the subscriptions. */
  readonly head: string;
  /** Whole messages by the subscriptions they go to: those of many sockets have the same names. */
  readonly whole: Map<string, Buffer>;
  payload?: Readonly<Record<string, unknown>>;
}

/** The messages of one event: they differ in the payload that a reader is shown and in the subscriptions that it goes to. */
class Messages {
  readonly #event: StoredEvent;
  readonly #topics: Topics;
  readonly #byData = new Map<string, PrintedEvent>();

  constructor(event: StoredEvent, topics: Topics) {
    this.#event = event;
    this.#topics = topics;
  }

  /** The message, or undefined where the queries of no subscription fit. */
  to(subscriptions: readonly Subscription[], data: string): Buffer | undefined {
    const entry = this.#byData.get(data) ?? this.#print(data);
    const ids = subscriptions.flatMap(({ id, filter }) => {
      if (filter === undefined) return [id];
      entry.payload ??= parsePayload(data);
      return filter(entry.payload) ? [id] : [];
    });
    if (ids.length === 0) return undefined;
    const names = JSON.stringify(ids);
    const known = entry.whole.get(names);
    if (known !== undefined) return known;
    const message = Buffer.from(`${entry.head}${names}}}`);
    entry.whole.set(names, message);
    return message;
  }

  #print(data: string): PrintedEvent {
    const { id, createdAt, sequence } = this.#event;
    const { names: events, channels } = this.#topics;
    const head = JSON.stringify({ id, events, channels, timestamp: toWireInstant(createdAt), sequence });
    const entry: PrintedEvent = {
      head: `{"type":"event","data":${head.slice(0, -1)},"payload":${data},"subscriptions":`,
      whole: new Map(),
    };
    this.#byData.set(data, entry);
    return entry;
  }
}

import { setImmediate as others } from 'node:timers/promises';
import type { User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { realtimeLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { ResponseBudgets } from '#src/platform/admission/response-budget.js';
import { readAnswer } from '#src/platform/db/answer-reader.js';
import type { Runtime } from '#src/platform/index.js';
import type { Projects } from '../../../installation/index.js';
import { everything, type Feed, type StoredEvent } from '../../feed/index.js';
import type { ReaderCredential, Readers } from '../../readers/index.js';
import { ChannelIndex } from './channel-index.js';
import { slicesOf, type Told } from './slices.js';
import { closeCodes, type RealtimeSocket } from './socket.js';

/** Dependencies of a hub. */
export interface HubDeps {
  readonly feed: Feed;
  readonly readers: Readers;
  readonly projects: Projects;
  /** Byte budget for pages of events. Each hub is one account. */
  readonly budgets: ResponseBudgets;
  /** Called for each message sent. */
  readonly onSent: () => void;
}

/** The sockets of a project and the last event sent to them. */
export class Hub {
  readonly sockets = new Set<RealtimeSocket>();
  readonly index = new ChannelIndex<RealtimeSocket>();
  /** The number of the last event sent. Set before the first socket is added. */
  private cursor = 0;
  #isPumping = false;
  #again = false;
  #isFailing = false;
  #retry: NodeJS.Timeout | undefined;
  readonly #projectId: string;
  readonly #runtime: Pick<Runtime, 'db' | 'clock' | 'log'>;
  readonly #deps: HubDeps;

  constructor(projectId: string, runtime: Pick<Runtime, 'db' | 'clock' | 'log'>, deps: HubDeps) {
    this.#projectId = projectId;
    this.#runtime = runtime;
    this.#deps = deps;
  }

  /** Starts after the last numbered event. */
  async begin(): Promise<void> {
    this.cursor = await this.#deps.feed.last(this.#runtime.db, this.#projectId);
  }

  /** Sends all new events. Calls run one at a time, so that events keep their order. */
  async pump(): Promise<void> {
    this.#again = true;
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      while (this.#again && this.sockets.size > 0) {
        this.#again = false;
        if (await this.#tellSome()) this.#again = true;
        this.#isFailing = false;
      }
    } catch (error) {
      // Events were removed, or the database was restored. Skips to the last event; clients can read the missing ones from the feed.
      if (error instanceof Failure && error.type === 'general_cursor_not_found') await this.begin().catch(() => {});
      if (!this.#isFailing)
        this.#runtime.log.warn('realtime.failed', { error: error instanceof Error ? error.name : typeof error });
      this.#isFailing = true;
      // Retries later: the cursor has not moved, and the next call would only come with new events.
      this.#retryLater();
    } finally {
      this.#isPumping = false;
    }
  }

  /** Closes sockets with an invalid credential. Checks credentials that may have expired, and all others periodically. */
  async sweep(): Promise<void> {
    const now = this.#runtime.clock.now();
    const monotonic = this.#runtime.clock.monotonic();
    const due = [...this.sockets].filter(({ user, credential, checkedAt }) => {
      if (user === undefined) return false;
      const ends = credential?.jwt === undefined ? Date.parse(user.session.expire) : credential.jwt.expires * 1000;
      const [sinceCheck, sinceEnd] = [monotonic - checkedAt, now - ends];
      // A session that was still valid after its expiry had been extended.
      const isOver = sinceEnd >= 0 && (sinceCheck >= sinceEnd || sinceCheck > realtimeLimits.overdueMs);
      return isOver || sinceCheck > realtimeLimits.recheckMs;
    });
    if (due.length === 0) return;
    const project = await this.#deps.projects.current(this.#projectId);
    for (let at = 0; at < due.length; at += realtimeLimits.checkedTogether)
      await this.#check(project, due.slice(at, at + realtimeLimits.checkedTogether));
  }

  #retryLater(): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      void this.pump();
    }, realtimeLimits.retryMs).unref();
  }

  closeAll(code: number, message: string): void {
    for (const socket of [...this.sockets]) socket.close(code, message);
  }

  /** Sends a page of events. Returns true if there are more. */
  async #tellSome(): Promise<boolean> {
    const { db } = this.#runtime;
    const { feed, projects, budgets } = this.#deps;
    const budget = budgets.open({ account: this.#projectId });
    try {
      const request = { ...everything, limit: realtimeLimits.page, after: this.cursor };
      const page = await readAnswer(db, { budget }, (reader) => feed.page(reader, this.#projectId, request));
      if (page.events.length > 0) await this.#tell(await projects.current(this.#projectId), page.events);
      this.cursor = page.cursor;
      return page.more;
    } finally {
      budget.close();
    }
  }

  /** Sends events in slices. Other requests run between them. */
  async #tell(project: Project, events: readonly StoredEvent[]): Promise<void> {
    await this.#check(project, this.#ofUsers(events));
    let isFirst = true;
    for (const slice of slicesOf(events, this.index)) {
      if (!isFirst) await others();
      isFirst = false;
      await this.#tellSlice(project, slice);
    }
  }

  async #tellSlice(project: Project, slice: readonly Told[]): Promise<void> {
    const shown = await this.#deps.readers.of(
      project,
      slice.map(({ event }) => event),
    );
    // Runs last, so that there is no await between the check and the sending.
    const users = await this.#check(project, [...new Set(slice.flatMap(({ sockets }) => sockets))]);
    slice.forEach(({ channels, messages, sockets }, at) => {
      for (const socket of sockets) {
        const { credential } = socket;
        const data = shown[at]?.(credential === undefined ? undefined : users.get(credential));
        if (data === undefined || !socket.isOpen) continue;
        const message = messages.to(socket.subscriptions.within(channels), data);
        if (message !== undefined && socket.send(message)) this.#deps.onSent();
      }
    });
  }

  /** The sockets of users whose account or session changed. */
  #ofUsers(events: readonly StoredEvent[]): RealtimeSocket[] {
    const userIds = new Set(events.flatMap(({ resource }) => /^users\/([^/]+)/.exec(resource ?? '')?.[1] ?? []));
    return userIds.size === 0 ? [] : [...this.sockets].filter((one) => userIds.has(one.credential?.userId ?? ''));
  }

  /** Rereads the users of sockets. Closes sockets with an invalid credential. */
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
      // Skips a socket that has switched to another user during the check.
      if (socket.credential !== credential) continue;
      socket.checkedAt = now;
      if (!users.has(credential)) socket.close(closeCodes.policy, 'The session or JWT is not valid any more.');
    }
    return users;
  }
}

import type { User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { realtimeLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import { Answers } from '#src/platform/answers.js';
import type { Runtime } from '#src/platform/index.js';
import { addressKey, createMemoryLimiter } from '#src/platform/limiter.js';
import { Tally } from '#src/platform/tally.js';
import type { FeedAccess } from '../feed/index.js';
import { Backlog } from './sockets/backlog.js';
import { Hub, type HubDeps } from './sockets/hub.js';
import { createRealtimeMetrics } from './sockets/metrics.js';
import { createReceiver } from './sockets/receiver.js';
import { type Connection, closeCodes, RealtimeSocket } from './sockets/socket.js';
import { SubscriptionRoom } from './subscriptions/room.js';

export { type Connection, closeCodes } from './sockets/socket.js';

/** Who connects. */
interface SocketRequest {
  readonly project: Project;
  readonly user: User | undefined;
  readonly address: string;
  /** The user behind the secret of a session. Throws Failure, also where too many secrets were wrong. */
  readonly authenticate: (secret: string) => Promise<User>;
}

/** A connected client, as its connection sees it. */
interface Client {
  /** Takes a message of the client. */
  receive(text: string): void;
  /** The connection is closed, with this code. */
  left(code: number): void;
}

/** Sockets of clients that are told of events as they happen. */
interface Realtime {
  /** Tells the client that it is connected. Throws Failure where there are too many sockets. */
  connect(newcomer: SocketRequest, connection: Connection): Promise<Client>;
  /** Closes every socket, as the process ends. */
  stop(): void;
}

interface Deps extends FeedAccess, Omit<HubDeps, 'feed' | 'rooms' | 'onSent'> {
  /** A user as the user itself sees it. */
  readonly printUser: (user: User) => unknown;
}

/** Creates the sockets of a process. */
export function createRealtime(
  runtime: Pick<Runtime, 'db' | 'clock' | 'config' | 'log' | 'metrics' | 'random'>,
  deps: Deps,
): Realtime {
  const { config } = runtime;
  const measure = createRealtimeMetrics(runtime);
  const hubs = new Map<string, { readonly hub: Hub; readonly ready: Promise<void>; unfollow: () => void }>();
  // Not that of other answers: whose readers are slow must not hold events up.
  const rooms = new Answers(runtime.clock, config.answerMaxBytes, realtimeLimits);
  const backlog = new Backlog();
  const room = new SubscriptionRoom();
  const countMessages = createMemoryLimiter(() => runtime.clock.monotonic());
  /** Counts a message for the address; false where that has sent too many. */
  const admitsMessage = (address: string, characters: number): boolean => {
    const rate = { count: realtimeLimits.messagesOfAddress, seconds: realtimeLimits.messagesSeconds };
    return countMessages(address, rate, 1 + Math.floor(characters / realtimeLimits.messageBytes)).allowed;
  };
  /** Sockets in all, of projects, addresses and users. */
  const counts = new Tally();
  let isEnding = false;
  let timer: NodeJS.Timeout | undefined;

  const sweep = () => {
    for (const { hub } of hubs.values()) hub.sweep().catch(() => {});
  };
  /** The hub of a project, from the events on that have no number yet. */
  const hubOf = (projectId: string) => {
    const known = hubs.get(projectId);
    if (known !== undefined) return known;
    const hub = new Hub(projectId, runtime, { ...deps, rooms, onSent: () => measure.sent() });
    const ready = hub.begin();
    const unfollow = deps.watch.follow(projectId, (change) => {
      if (change === 'gone') hub.closeAll(closeCodes.policy, 'The project was deleted.');
      else void ready.then(() => hub.pump()).catch(() => {});
    });
    const entry = { hub, ready, unfollow };
    hubs.set(projectId, entry);
    timer ??= setInterval(sweep, realtimeLimits.sweepMs).unref();
    return entry;
  };
  const leaveHub = (projectId: string): void => {
    const entry = hubs.get(projectId);
    if (entry === undefined || entry.hub.sockets.size > 0) return;
    entry.unfollow();
    hubs.delete(projectId);
    if (hubs.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  const demandRoom = (name: string, limit: number, message: string): void => {
    if (counts.of(name) >= limit) throw new Failure('general_unavailable', { message, retryAfter: 30 });
  };
  const demandUserRoom = ({ project, id }: { project: Project; id: string }): string => {
    const name = `user ${project.id} ${id}`;
    demandRoom(name, config.realtimeSocketsPerUser, 'The user has too many sockets.');
    return name;
  };

  return {
    connect: async ({ project, user, address, authenticate }, connection) => {
      if (isEnding) throw new Failure('general_unavailable');
      const ofAddress = `address ${addressKey(address)}`;
      const held = ['all', `project ${project.id}`, ofAddress];
      demandRoom('all', config.realtimeSockets, 'There are too many sockets.');
      demandRoom(held[1] ?? '', config.realtimeSocketsPerProject, 'The project has too many sockets.');
      demandRoom(ofAddress, config.realtimeSocketsPerAddress, 'The address has too many sockets.');
      if (user !== undefined) held.push(demandUserRoom({ project, id: user.id }));
      for (const name of held) counts.add(name, 1);
      measure.opened();
      const { hub, ready } = hubOf(project.id);
      const socket = new RealtimeSocket(project, connection, { backlog, share: room.of(ofAddress), index: hub.index });
      // Before anything is awaited: the last socket of others must not take the hub away.
      hub.sockets.add(socket);
      const leave = (code: number): void => {
        if (!hub.sockets.delete(socket)) return;
        socket.left();
        for (const name of held) counts.add(name, -1);
        measure.closed(socket.closedWith ?? code);
        leaveHub(project.id);
      };
      try {
        await ready;
      } catch (error) {
        leave(closeCodes.tryAgainLater);
        // The next client asks anew.
        hubs.get(project.id)?.unfollow();
        hubs.delete(project.id);
        throw error;
      }
      if (user !== undefined) socket.identify(user, runtime.clock.monotonic());
      socket.sendValue('connected', {
        channels: [],
        subscriptions: {},
        user: user === undefined ? null : deps.printUser(user),
      });
      const identify = async (secret: string): Promise<unknown> => {
        const found = await authenticate(secret);
        // Whoever has left meanwhile has given its places back, and takes no further one.
        if (hub.sockets.has(socket) && socket.user?.id !== found.id) {
          const name = demandUserRoom({ project, id: found.id });
          const before = held.findIndex((one) => one.startsWith('user '));
          if (before !== -1) for (const one of held.splice(before, 1)) counts.add(one, -1);
          held.push(name);
          counts.add(name, 1);
        }
        socket.identify(found, runtime.clock.monotonic());
        return deps.printUser(found);
      };
      const admits = (characters: number) => admitsMessage(ofAddress, characters);
      return { receive: createReceiver(runtime, socket, { identify, admits }), left: leave };
    },
    stop: () => {
      isEnding = true;
      for (const { hub } of hubs.values()) hub.closeAll(closeCodes.goingAway, 'The server ends.');
    },
  };
}

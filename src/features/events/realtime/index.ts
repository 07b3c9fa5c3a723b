import type { User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { type Rate, realtimeLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import { addressKey, createMemoryLimiter, type LimitState } from '#src/platform/admission/limiter.js';
import { Quota } from '#src/platform/admission/quota.js';
import { ResponseBudgets } from '#src/platform/admission/response-budget.js';
import { Tally } from '#src/platform/admission/tally.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import type { FeedAccess } from '../feed/index.js';
import { Backlog } from './sockets/backlog.js';
import { greet } from './sockets/greeting.js';
import { Hub, type HubDeps } from './sockets/hub.js';
import { createRealtimeMetrics, type RealtimeMetrics } from './sockets/metrics.js';
import { createReceiver, type MessageSize } from './sockets/receiver.js';
import { type ClientConnection, closeCodes, RealtimeSocket } from './sockets/socket.js';

export { type ClientConnection, closeCodes } from './sockets/socket.js';

/** A request for a socket. */
interface SocketRequest {
  readonly project: Project;
  readonly user: User | undefined;
  readonly address: string;
  /** The query string of the socket's URL. It may contain channels. */
  readonly search: string;
  /** Authenticates a session secret. Throws Failure, also after too many wrong secrets. */
  readonly authenticate: (secret: string) => Promise<User>;
}

/** A connected client, as used by its connection. */
interface Client {
  /** Handles a message from the client. */
  receive(text: string): void;
  /** Called when the connection is closed, with the close code. */
  left(code: number): void;
}

/** Sockets that send events to clients as they happen. */
interface Realtime {
  /** Registers a socket and sends `connected`. Throws Failure if there are too many sockets. */
  connect(newcomer: SocketRequest, connection: ClientConnection): Promise<Client>;
  /** Closes all sockets when the process ends. */
  stop(): void;
}

/** The hub of a project with sockets. */
interface OpenHub {
  readonly hub: Hub;
  readonly ready: Promise<void>;
  readonly unfollow: () => void;
}

interface Deps extends FeedAccess, HubDeps, Pick<Runtime, 'db' | 'clock' | 'config' | 'log' | 'random'> {
  /** Prints a user's own account. */
  readonly printUser: (user: User) => unknown;
  readonly measure: RealtimeMetrics;
  readonly hubs: Map<string, OpenHub>;
  readonly backlog: Backlog;
  /** Bytes of subscriptions, per address. */
  readonly subscriptionBytes: Quota;
  readonly countMessages: (key: string, rate: Rate, calls?: number) => Pick<LimitState, 'allowed'>;
  /** Number of sockets in total and per project, address and user. */
  readonly counts: Tally;
  readonly state: { isEnding: boolean; timer: NodeJS.Timeout | undefined };
}

/** A registered socket. `held` has the names of its slots in `counts`. */
interface Registered {
  readonly project: Project;
  readonly socket: RealtimeSocket;
  readonly hub: Hub;
  readonly held: string[];
}

/** Creates the sockets of a process. */
export function createRealtime(
  runtime: Pick<Runtime, 'db' | 'clock' | 'config' | 'log' | 'metrics' | 'random'>,
  parts: FeedAccess & Pick<Deps, 'projects' | 'readers' | 'printUser'>,
): Realtime {
  const { clock, config } = runtime;
  const measure = createRealtimeMetrics(runtime);
  const deps: Deps = {
    ...runtime,
    ...parts,
    measure,
    hubs: new Map(),
    // A separate budget: slow readers of other responses must not delay events.
    budgets: new ResponseBudgets(clock, config.answerMaxBytes, realtimeLimits),
    onSent: measure.sent,
    backlog: new Backlog(),
    subscriptionBytes: new Quota({
      all: realtimeLimits.subscriptionBytesTogether,
      ofOwner: realtimeLimits.subscriptionBytesOfAddress,
    }),
    countMessages: createMemoryLimiter(() => clock.monotonic()),
    counts: new Tally(),
    state: { isEnding: false, timer: undefined },
  };
  return bind(deps, { connect, stop });
}

async function connect(deps: Deps, newcomer: SocketRequest, connection: ClientConnection): Promise<Client> {
  const { clock, measure, hubs, backlog, subscriptionBytes } = deps;
  const { project, user, search } = newcomer;
  if (deps.state.isEnding) throw new Failure('general_unavailable');
  const address = `address ${addressKey(newcomer.address)}`;
  const held = takeSlots(deps, project, address, user);
  measure.opened();
  const { hub, ready } = hubOf(deps, project.id);
  const takeBytes = (bytes: number) => subscriptionBytes.tryTake(address, bytes);
  const socket = new RealtimeSocket(project, connection, { backlog, takeBytes, index: hub.index });
  // Adds the socket before the first await, so that the hub is kept when other sockets leave.
  hub.sockets.add(socket);
  const registered = { project, socket, hub, held };
  try {
    await ready;
  } catch (error) {
    leave(deps, registered, closeCodes.tryAgainLater);
    // The next client creates a new hub.
    hubs.get(project.id)?.unfollow();
    hubs.delete(project.id);
    throw error;
  }
  if (user !== undefined) socket.identify(user, clock.monotonic());
  greet(deps, socket, search, user === undefined ? null : deps.printUser(user));
  const receive = createReceiver(deps, socket, {
    identify: async (secret) => identify(deps, registered, await newcomer.authenticate(secret)),
    admits: (size) => admitsMessage(deps, address, size),
  });
  return { receive, left: (code) => leave(deps, registered, code) };
}

/** Acquires the slots of a socket, all or none. Returns their names. */
function takeSlots(deps: Deps, project: Project, address: string, user: User | undefined): string[] {
  const { config, counts } = deps;
  const ofProject = `project ${project.id}`;
  requireSlot(deps, 'all', config.realtimeSockets, 'There are too many sockets.');
  requireSlot(deps, ofProject, config.realtimeSocketsPerProject, 'The project has too many sockets.');
  requireSlot(deps, address, config.realtimeSocketsPerAddress, 'The address has too many sockets.');
  const held = ['all', ofProject, address];
  if (user !== undefined) held.push(requireUserSlot(deps, project, user));
  for (const name of held) counts.add(name, 1);
  return held;
}

function requireSlot({ counts }: Deps, name: string, limit: number, message: string): void {
  if (counts.of(name) >= limit) throw new Failure('general_unavailable', { message, retryAfter: 30 });
}

function requireUserSlot(deps: Deps, project: Project, { id }: User): string {
  const name = `user ${project.id} ${id}`;
  requireSlot(deps, name, deps.config.realtimeSocketsPerUser, 'The user has too many sockets.');
  return name;
}

/** The hub of a project. A new hub starts with the events not numbered yet. */
function hubOf(deps: Deps, projectId: string): OpenHub {
  const { hubs, watch, state, backlog } = deps;
  const known = hubs.get(projectId);
  if (known !== undefined) return known;
  const hub = new Hub(projectId, deps, deps);
  const ready = hub.begin();
  const unfollow = watch.follow(projectId, (change) => {
    if (change === 'gone') hub.closeAll(closeCodes.policy, 'The project was deleted.');
    else void ready.then(() => hub.pump()).catch(() => {});
  });
  const entry = { hub, ready, unfollow };
  hubs.set(projectId, entry);
  state.timer ??= setInterval(() => {
    backlog.sweep();
    for (const one of hubs.values()) one.hub.sweep().catch(() => {});
  }, realtimeLimits.sweepMs).unref();
  return entry;
}

/** Removes a closed socket, and the hub of its project after the last one. */
function leave(deps: Deps, { project, socket, hub, held }: Registered, code: number): void {
  const { counts, measure, hubs, state } = deps;
  if (!hub.sockets.delete(socket)) return;
  socket.left();
  for (const name of held) counts.add(name, -1);
  measure.closed(socket.closedWith ?? code);
  const current = hubs.get(project.id);
  if (current === undefined || current.hub.sockets.size > 0) return;
  current.unfollow();
  hubs.delete(project.id);
  if (hubs.size > 0) return;
  clearInterval(state.timer);
  state.timer = undefined;
}

/** Assigns a socket to a user who has authenticated with a message. */
function identify(deps: Deps, { project, socket, hub, held }: Registered, user: User): unknown {
  const { counts, clock, printUser } = deps;
  // A socket closed during authentication has released its slots and must not acquire another one.
  if (hub.sockets.has(socket) && socket.user?.id !== user.id) {
    const name = requireUserSlot(deps, project, user);
    const before = held.findIndex((one) => one.startsWith('user '));
    if (before !== -1) for (const one of held.splice(before, 1)) counts.add(one, -1);
    held.push(name);
    counts.add(name, 1);
  }
  socket.identify(user, clock.monotonic());
  return printUser(user);
}

/** Counts a message from an address; false if it has sent too many. */
function admitsMessage({ countMessages }: Deps, address: string, { characters = 0, members }: MessageSize): boolean {
  const rate = { count: realtimeLimits.messagesOfAddress, seconds: realtimeLimits.messagesSeconds };
  const { messageBytes, messageMembers } = realtimeLimits;
  const weight =
    members === undefined ? 1 + Math.floor(characters / messageBytes) : Math.floor(members / messageMembers);
  return weight === 0 || countMessages(address, rate, weight).allowed;
}

function stop({ state, hubs }: Deps): void {
  state.isEnding = true;
  for (const { hub } of hubs.values()) hub.closeAll(closeCodes.goingAway, 'The server ends.');
}

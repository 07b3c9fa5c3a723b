/** Limits of feed readers in a process. */
export const feedLimits = {
  /** Events of a page. */
  page: 1000,
  defaultPage: 100,
  waitSeconds: 30,
  /** Filters of a request, and characters of one. */
  types: 20,
  prefix: 512,
  /** Waiting requests and open streams: in total, and of a user or server key. */
  readers: 1000,
  readersOfAccount: 50,
  /** `Retry-After` for a reader beyond these limits. */
  retrySeconds: 5,
  /** Interval at which an idle stream sends a comment, and checks that its reader may still read. */
  heartbeatMs: 15_000,
  /** Most unread bytes of a stream; one event may be larger. */
  streamBytes: 131_072,
  /** Time after which a reader that receives nothing is cut off, and the part size of a long text. */
  stallMs: 30_000,
  partBytes: 65_536,
  /**
   * Large events of streams in memory: events of the largest size in total, and of a user or server key, and the longest wait of a stream.
   */
  manyAtOnce: 4,
  manyOfAccount: 1,
  waitMs: 60_000,
  /**
   * While others wait, streams that received less than `giveWayBytes` of a large event in `giveWayMs`, or take longer than `giveWayAfterMs`
   * in total, are cut off, slowest first.
   */
  giveWayMs: 10_000,
  giveWayBytes: 131_072,
  giveWayAfterMs: 120_000,
} as const;

/** Limits of client sockets; their number is limited by settings. */
export const realtimeLimits = {
  /** Bytes of a client's message, messages of a socket within `messagesSeconds`, and messages that wait for the one before. */
  frameBytes: 262_144,
  /** Members and list entries of a client's message. */
  members: 5000,
  /** Fragments of a client's message. */
  fragments: 64,
  /**
   * Bytes of an incomplete message that each socket has for itself; further bytes count towards the limits of its address, and of all
   * sockets.
   */
  unfinishedBytes: 4096,
  unfinishedBytesOfAddress: 16_777_216,
  unfinishedBytesTogether: 67_108_864,
  messages: 120,
  messagesSeconds: 10,
  waitingMessages: 64,
  /**
   * Messages of all sockets of an address, in the same time. A message counts once per `messageBytes` or part of it, and again per
   * `messageMembers` members.
   */
  messagesOfAddress: 6000,
  messageBytes: 4096,
  messageMembers: 100,
  /** Subscriptions of a socket, and channels of all its subscriptions together. */
  subscriptions: 100,
  channels: 500,
  /** Characters. */
  id: 64,
  channel: 256,
  secret: 256,
  /** Conditions of a subscription with their values, and their nesting depth. */
  conditions: 100,
  depth: 5,
  /** The same for all subscriptions of a socket. */
  conditionsOfSocket: 500,
  /** Memory of subscriptions: of a socket, of the sockets of an address, and of all. */
  subscriptionBytes: 131_072,
  subscriptionBytesOfAddress: 16_777_216,
  subscriptionBytesTogether: 67_108_864,
  /**
   * Unread bytes of a client, not counting a long message that it is reading. A client with more is cut off if they have not become fewer
   * within `sweepMs`, and at once beyond `burstBytes`: one request can create many events.
   */
  bufferedBytes: 1_048_576,
  burstBytes: 16_777_216,
  /** The same for all clients together; beyond it the clients with the most unread bytes are cut off. */
  bufferedTogether: 67_108_864,
  /** Events that are read together. */
  page: 200,
  /**
   * Pages of events in memory: pages of the largest size in total, and of a project, the longest wait, and the delay before a failed read
   * is retried.
   */
  manyAtOnce: 2,
  manyOfAccount: 1,
  waitMs: 60_000,
  retryMs: 1000,
  /**
   * Steps of sending events to sockets before other requests are served: a channel or condition is one step, a message `stepsOfMessage`.
   */
  stepsTogether: 200_000,
  stepsOfMessage: 100,
  /** Bytes of one event's messages cached for further sockets with subscriptions of the same names. */
  printedBytes: 1_048_576,
  /** Intervals of checking slow clients and credentials that may have expired, and of checking all credentials; and the number of credentials in one query. */
  sweepMs: 1000,
  overdueMs: 5000,
  recheckMs: 30_000,
  checkedTogether: 500,
  /** Interval of pings, and the longest time for closing a connection. */
  pingMs: 30_000,
  closeMs: 1000,
  /** Fragment size of a long message, so that pings can be sent in between. */
  fragmentBytes: 65_536,
} as const;

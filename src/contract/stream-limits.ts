/** Readers of the feed, in a process. */
export const feedLimits = {
  /** Events of a page. */
  page: 1000,
  defaultPage: 100,
  waitSeconds: 30,
  /** Filters of a request, and characters of one. */
  types: 20,
  prefix: 512,
  /** Requests that wait and streams that are open: in all, and of a user or server key. */
  readers: 1000,
  readersOfAccount: 50,
  /** When somebody who found no place may come again. */
  retrySeconds: 5,
  /** How often a stream that has nothing to send sends a comment, and checks that its reader may still read. */
  heartbeatMs: 15_000,
  /** What a stream sends before its reader has read on; one event may be larger. */
  streamBytes: 131_072,
  /** How long a reader may take nothing of what was sent, and the parts in which a long text is sent. */
  stallMs: 30_000,
  partBytes: 65_536,
  /** Large events that streams have in memory: so many of the largest size, of these for a user or server key, and how long a stream waits. */
  manyAtOnce: 4,
  manyOfAccount: 1,
  waitMs: 60_000,
  /** While others wait, streams are cut off that took fewer bytes of a large event in so many milliseconds, or have taken longer in all; the slowest first. */
  giveWayMs: 10_000,
  giveWayBytes: 131_072,
  giveWayAfterMs: 120_000,
} as const;

/** Sockets of clients; how many there may be are settings. */
export const realtimeLimits = {
  /** Bytes of a message of a client, and messages of a socket in a time; further ones may wait for the one before. */
  frameBytes: 262_144,
  /** Fragments of a message of a client. */
  fragments: 64,
  /** Bytes of a message that has not arrived whole, which each socket has for itself; what is beyond counts for its address, and for all. */
  unfinishedBytes: 4096,
  unfinishedBytesOfAddress: 16_777_216,
  unfinishedBytesTogether: 67_108_864,
  messages: 120,
  messagesSeconds: 10,
  waitingMessages: 64,
  /** Of the sockets of an address, in the same time: a message counts once for each so many bytes that it begins. */
  messagesOfAddress: 6000,
  messageBytes: 4096,
  /** Of a socket; all channels of its subscriptions together. */
  subscriptions: 100,
  channels: 500,
  /** Characters. */
  id: 64,
  channel: 256,
  secret: 256,
  /** Conditions of a subscription with their values, and how deep they nest. */
  conditions: 100,
  depth: 5,
  /** The same of all subscriptions of a socket. */
  conditionsOfSocket: 500,
  /** Memory of subscriptions: of a socket, of the sockets of an address, and of all. */
  subscriptionBytes: 131_072,
  subscriptionBytesOfAddress: 16_777_216,
  subscriptionBytesTogether: 67_108_864,
  /** What may wait to be read by a client, beside a long message that it is reading, before it is cut off. */
  bufferedBytes: 1_048_576,
  /** What may wait for all of them together; beyond it those for which most waits are cut off. */
  bufferedTogether: 67_108_864,
  /** Events that are read together. */
  page: 200,
  /** Pages of events in memory: so many of the largest size, of these for a project, how long one waits, and when a failed read comes again. */
  manyAtOnce: 2,
  manyOfAccount: 1,
  waitMs: 60_000,
  retryMs: 1000,
  /** Steps of telling sockets of events before other requests are served: a channel or condition is one, a message so many. */
  stepsTogether: 200_000,
  stepsOfMessage: 100,
  /** Bytes of one event's messages that are kept for further sockets with subscriptions of the same names. */
  printedBytes: 1_048_576,
  /** How often credentials are checked beside events: those whose time may be over, and all; and how many in one query. */
  sweepMs: 1000,
  overdueMs: 5000,
  recheckMs: 30_000,
  checkedTogether: 500,
  /** How often a client is asked whether it is there, and how long a closed connection may take to end. */
  pingMs: 30_000,
  closeMs: 1000,
  /** The fragments in which a long message is sent, so that pings come between. */
  fragmentBytes: 65_536,
} as const;

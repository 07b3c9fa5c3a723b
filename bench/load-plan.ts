/** One round: warm up, then count for a while. Travels as JSON to the load process. */
export interface LoadPlan {
  /** The connections take turns among them. */
  readonly ports: readonly number[];
  readonly warmupSeconds: number;
  readonly seconds: number;
  /** Processes whose CPU time, with that of everything below them, is read at both ends of the counted time. */
  readonly watch: readonly number[];
  readonly groups: readonly LoadGroup[];
}

/** Connections that do the same: each sends the group's requests in turn and waits for every answer. */
export interface LoadGroup {
  readonly connections: number;
  readonly requests: readonly string[];
  readonly status: number;
  /**
   * The requests come in sequences of this length, each sent by one connection; `{id}` in them becomes the `$id` of the first answer of
   * their sequence, and each answer may have any status of success.
   */
  readonly sequence?: number | undefined;
  /** How fast a connection reads answers; as fast as it can where absent. */
  readonly bytesPerSecond?: number | undefined;
  /** How many requests all connections together send in a second; as many as are answered where absent. */
  readonly perSecond?: number;
}

/** What one group saw within the counted time; latencies in milliseconds. */
export interface GroupResult {
  readonly answers: number;
  readonly errors: number;
  readonly firstError: string | null;
  readonly p50: number;
  readonly p99: number;
}

/** What came of a round: its exact length, the CPU seconds of the watched processes, and each group's share. */
export interface LoadResult {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly groups: readonly GroupResult[];
}

/** Where a stream writes to. */
export interface StreamSink {
  /** Aborted when the client has closed the connection, or the server ends. */
  readonly signal: AbortSignal;
  /** Writes text; resolves when the client has taken enough of it for more, and when the signal is aborted. */
  write(text: string): Promise<void>;
  /** Bytes that the client has taken so far. */
  taken(): number;
  /** Cuts the connection. */
  cut(): void;
}

/** A reply that goes on: server-sent events (HTML Living Standard, section 9.2). It ends when `run` resolves. */
export class EventStream {
  readonly run: (sink: StreamSink) => Promise<void>;

  constructor(run: (sink: StreamSink) => Promise<void>) {
    this.run = run;
  }
}

/** The output of a stream. */
export interface StreamSink {
  /** Aborted when the client has closed the connection, or the server stops. */
  readonly signal: AbortSignal;
  /** Writes text; resolves when the client has read enough to accept more, and when the signal is aborted. */
  write(text: string): Promise<void>;
  /** Bytes that the client has received so far. */
  taken(): number;
  /** Closes the connection. */
  cut(): void;
}

/** A streaming reply: server-sent events (HTML Living Standard, section 9.2). It ends when `run` resolves. */
export class EventStream {
  readonly run: (sink: StreamSink) => Promise<void>;

  constructor(run: (sink: StreamSink) => Promise<void>) {
    this.run = run;
  }
}

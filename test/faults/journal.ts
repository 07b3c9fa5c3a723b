// What the clients know: each write they asked for, and what was answered if anything was.

/** JSON as it came. */
export type Json = Record<string, unknown>;

/** What a write is recorded as. */
export type WrittenEvent = 'documentCreated' | 'documentUpdated' | 'documentDeleted' | 'sessionCreated';

/** A write that was asked for. */
export interface Write {
  /** Sent with the request, so that its audit row names it. */
  readonly requestId: string;
  readonly event: WrittenEvent;
  /** The id of the document, or of the user who logs in. */
  readonly subject: string;
  /** Different in each write; documents carry it. */
  readonly number: number;
  /** What was answered; absent where no answer came, so that the write may be there or not. */
  answer?: Json;
}

/** The writes of all clients, in the order in which they were asked for. */
export interface Journal {
  readonly writes: readonly Write[];
  /** Notes a write before it is sent. */
  open(event: WrittenEvent, subject?: string): Write;
  /** How many were acknowledged. */
  acknowledged(): number;
}

/** Creates an empty journal. A document that is created is named after its write. */
export function createJournal(): Journal {
  const writes: Write[] = [];
  return {
    writes,
    open: (event, subject) => {
      const number = writes.length + 1;
      const write: Write = { requestId: `write-${number}`, event, subject: subject ?? `document-${number}`, number };
      writes.push(write);
      return write;
    },
    acknowledged: () => writes.filter(({ answer }) => answer !== undefined).length,
  };
}

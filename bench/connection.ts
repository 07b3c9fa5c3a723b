import { connect } from 'node:net';

/** What a connection asks of its owner: the bytes to send next (undefined: stop), and where answers and failures go. */
interface Conversation {
  readonly port: number;
  /** Rest between an answer and the next request, or what tells it each time; none where absent. */
  readonly pauseMs?: number | (() => number);
  next(): string | undefined;
  answered(status: number, milliseconds: number): void;
  broken(reason: string): void;
}

const headEnd = Buffer.from('\r\n\r\n');

/** Keeps one HTTP/1.1 connection to 127.0.0.1 busy, one request at a time, until there is nothing left to send. */
export function converse({ port, pauseMs = 0, next, answered, broken }: Conversation): Promise<void> {
  return new Promise((resolve) => {
    let sentAt = 0;
    let waiting = false;
    let resting: NodeJS.Timeout | undefined;
    let pending: Buffer | undefined;

    const send = (): void => {
      resting = undefined;
      const request = next();
      waiting = request !== undefined;
      if (request === undefined) {
        socket.destroy();
        return;
      }
      sentAt = performance.now();
      socket.write(request, 'latin1');
    };
    const fail = (reason: string): void => {
      waiting = false;
      broken(reason);
      socket.destroy();
    };
    const receive = (chunk: Buffer): void => {
      const bytes = pending === undefined ? chunk : Buffer.concat([pending, chunk]);
      const answer = readAnswer(bytes);
      if (answer.length === bytes.length && waiting) {
        pending = undefined;
        waiting = false;
        answered(answer.status, performance.now() - sentAt);
        const restMs = typeof pauseMs === 'number' ? pauseMs : pauseMs();
        if (restMs <= 0) send();
        else resting = setTimeout(send, restMs);
      } else if (answer.length > bytes.length) {
        // The chunk lies in a buffer that the next one overwrites.
        pending = pending === undefined ? Buffer.from(bytes) : bytes;
      } else {
        fail(Number.isNaN(answer.length) ? 'an answer without Content-Length' : 'more bytes than were asked for');
      }
    };

    const buffer = Buffer.allocUnsafe(65_536);
    const callback = (size: number): boolean => {
      receive(buffer.subarray(0, size));
      return true;
    };
    const socket = connect({ host: '127.0.0.1', port, noDelay: true, onread: { buffer, callback } });
    socket.once('connect', send);
    socket.on('error', (error) => fail(error.message));
    socket.once('close', () => {
      if (waiting || resting !== undefined) fail('the server closed the connection');
      clearTimeout(resting);
      resolve();
    });
  });
}

/** Just what is needed to find the end of an answer; the length is infinite while the head is incomplete. */
function readAnswer(bytes: Buffer): { status: number; length: number } {
  const end = bytes.indexOf(headEnd);
  if (end < 0) return { status: 0, length: Number.POSITIVE_INFINITY };
  const head = bytes.toString('latin1', 0, end);
  const status = Number(head.slice(9, 12));
  const bodyLength = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  const bodyless = status === 204 || status === 304;
  return { status, length: end + headEnd.length + Number(bodyLength ?? (bodyless ? 0 : Number.NaN)) };
}

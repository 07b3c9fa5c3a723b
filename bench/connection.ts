import { connect } from 'node:net';

/** What a connection asks of its owner: the bytes to send next (undefined: stop), and where answers and failures go. */
interface Conversation {
  readonly port: number;
  /** Rest between an answer and the next request, or what tells it each time; none where absent. */
  readonly pauseMs?: number | (() => number);
  /** How fast it reads; as fast as it can where absent. */
  readonly bytesPerSecond?: number | undefined;
  next(): string | undefined;
  /** `start` has the first bytes of the answer; a small answer is whole. */
  answered(status: number, milliseconds: number, start: Buffer): void;
  broken(reason: string): void;
}

const headEnd = Buffer.from('\r\n\r\n');

/** Keeps one HTTP/1.1 connection to 127.0.0.1 busy, one request at a time, until there is nothing left to send. */
export function converse(conversation: Conversation): Promise<void> {
  const { port, pauseMs = 0, bytesPerSecond, next, answered, broken } = conversation;
  return new Promise((resolve) => {
    let sentAt = 0;
    let waiting = false;
    let resting: NodeJS.Timeout | undefined;
    let pending: Buffer | undefined;
    let answer: Answer | undefined;
    let received = 0;

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
      received += chunk.length;
      if (answer === undefined) {
        const bytes = pending === undefined ? chunk : Buffer.concat([pending, chunk]);
        answer = readAnswer(bytes);
        // The chunk lies in a buffer that the next one overwrites.
        pending =
          pending === undefined && (answer === undefined || answer.length > received) ? Buffer.from(bytes) : bytes;
      }
      if (answer === undefined || received < answer.length) return;
      if (received === answer.length && waiting) {
        const { status } = answer;
        const start = pending ?? chunk;
        [answer, pending, received, waiting] = [undefined, undefined, 0, false];
        answered(status, performance.now() - sentAt, start);
        const restMs = typeof pauseMs === 'number' ? pauseMs : pauseMs();
        if (restMs <= 0) send();
        else resting = setTimeout(send, restMs);
      } else {
        fail(Number.isNaN(answer.length) ? 'an answer without Content-Length' : 'more bytes than were asked for');
      }
    };

    const buffer = Buffer.allocUnsafe(65_536);
    const callback = (size: number): boolean => {
      receive(buffer.subarray(0, size));
      if (bytesPerSecond === undefined) return true;
      setTimeout(() => socket.resume(), (size * 1000) / bytesPerSecond);
      return false;
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

interface Answer {
  readonly status: number;
  /** Bytes of the head and the body. */
  readonly length: number;
}

/** Finds the end of an answer. Returns undefined while the head is incomplete. */
function readAnswer(bytes: Buffer): Answer | undefined {
  const end = bytes.indexOf(headEnd);
  if (end < 0) return undefined;
  const head = bytes.toString('latin1', 0, end);
  const status = Number(head.slice(9, 12));
  const bodyLength = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  const bodyless = status === 204 || status === 304;
  return { status, length: end + headEnd.length + Number(bodyLength ?? (bodyless ? 0 : Number.NaN)) };
}

import type { ServerResponse } from 'node:http';

/** The answer to one request as it comes together. Node is told of all headers at once: one by one they cost several times as much. */
export class Answer {
  status = 404;
  /** In pieces that are sent together; none where nothing is answered but the head. */
  body: readonly string[] = [];
  /** Names and values in turn, as `writeHead` takes them. */
  private readonly head: string[];

  constructor(fixed: readonly string[], requestId: string) {
    this.head = [...fixed, 'X-Request-Id', requestId];
  }

  /** The value of a header, by its name as it was set. */
  get(name: string): string | undefined {
    const at = this.at(name);
    return at === -1 ? undefined : this.head[at + 1];
  }

  /** Sets a header, in place of one of the same name. */
  set(name: string, value: string): void {
    const at = this.at(name);
    if (at === -1) this.head.push(name, value);
    else this.head[at + 1] = value;
  }

  /** Adds a header beside those of the same name. */
  append(name: string, value: string): void {
    this.head.push(name, value);
  }

  /** Writes everything; a request by HEAD learns the length of the body only. */
  write(response: ServerResponse): void {
    const { status, head, body } = this;
    let bytes = 0;
    let characters = 0;
    for (const part of body) {
      bytes += Buffer.byteLength(part);
      characters += part.length;
    }
    if (body.length > 0) head.push('Content-Length', String(bytes));
    response.writeHead(status, head);
    if (body.length === 0 || response.req.method === 'HEAD') {
      response.end();
      return;
    }
    // Where there are as many bytes as characters all is ASCII, and Node copies what it is told to be Latin-1 as it stands.
    const encoding = bytes === characters ? 'latin1' : 'utf8';
    if (body.length > 1) response.cork();
    const last = body.length - 1;
    for (let at = 0; at < last; at++) response.write(body[at], encoding);
    response.end(body[last], encoding);
  }

  private at(name: string): number {
    const { head } = this;
    for (let at = 0; at < head.length; at += 2) if (head[at] === name) return at;
    return -1;
  }
}

import type { ServerResponse } from 'node:http';
import type { ParameterizedContext } from 'koa';
import { answerLimits } from '#src/contract/limits.js';
import type { OpenRoom } from '#src/platform/answers.js';

/** Headers that are lists: a value of another middleware stands beside those of the builder. */
const listHeaders: ReadonlySet<string> = new Set(['Set-Cookie', 'Vary']);

/**
 * Up to this length the parts of a body are joined, and Node joins them with the head: it takes one text for less than three, 9 % of the requests
 * per CPU-second on a document. Of longer ones each join is a copy, half of all memory that a list of 25 documents takes.
 */
const joinedCharacters = 4096;

/**
 * Headers and body of the response to one request; its status is `ctx.status`. They bypass `ctx.set` and `ctx.body`, because Node takes all
 * headers at once for less: setting them one by one costs 6 to 8 % of the requests per CPU-second on `GET /v1/account` and of a document.
 */
export class ResponseBuilder {
  /** In pieces that are sent together; empty for a response without a body, undefined until there is a response. */
  body: readonly string[] | undefined;
  /** Names and values in turn, as `writeHead` takes them. */
  private readonly headers: string[];

  constructor(fixedHeaders: readonly string[], requestId: string) {
    this.headers = [...fixedHeaders, 'X-Request-Id', requestId];
  }

  /** The value of a header, by its name as it was set. */
  get(name: string): string | undefined {
    const index = this.indexOf(name);
    return index === -1 ? undefined : this.headers[index + 1];
  }

  /** Sets a header, in place of one of the same name. */
  set(name: string, value: string): void {
    const index = this.indexOf(name);
    if (index === -1) this.headers.push(name, value);
    else this.headers[index + 1] = value;
  }

  /** Adds a header beside those of the same name. */
  append(name: string, value: string): void {
    this.headers.push(name, value);
  }

  /** Writes the response, unless a middleware has answered with `ctx.body` or `ctx.status` alone: Koa writes that, with the headers of here. */
  write(ctx: ParameterizedContext, room?: OpenRoom): void {
    const { body } = this;
    if (body === undefined || ctx.body !== undefined) {
      room?.close();
      this.copyHeaders(ctx.res);
      return;
    }
    ctx.respond = false;
    this.writeBody(ctx.res, ctx.status, body, room);
  }

  /** Writes the head of a response that goes on for as long as the connection lasts. */
  writeStreamHead(ctx: ParameterizedContext): void {
    this.set('Content-Type', 'text/event-stream; charset=utf-8');
    this.set('Cache-Control', 'no-store');
    // Proxies that collect a response before they pass it on leave this one alone.
    this.set('X-Accel-Buffering', 'no');
    this.set('Connection', 'close');
    this.writeHeadOnly(ctx);
    ctx.res.flushHeaders();
  }

  /** Writes the head of a response whose body another writes. */
  writeHeadOnly(ctx: ParameterizedContext): void {
    ctx.respond = false;
    this.writeHead(ctx.res, ctx.status);
  }

  /** A request by HEAD learns the length of the body only. */
  private writeBody(response: ServerResponse, status: number, body: readonly string[], room?: OpenRoom): void {
    let bytes = 0;
    let characters = 0;
    for (const part of body) {
      bytes += Buffer.byteLength(part);
      characters += part.length;
    }
    const isLarge = bytes > answerLimits.watched;
    if (!isLarge) room?.close();
    if (body.length > 0) this.headers.push('Content-Length', String(bytes));
    this.writeHead(response, status);
    if (body.length === 0 || response.req.method === 'HEAD') {
      room?.close();
      response.end();
      return;
    }
    // As many bytes as characters means ASCII, which Node copies without encoding it where it is told that it is Latin-1.
    const encoding = bytes === characters ? 'latin1' : 'utf8';
    if (characters <= joinedCharacters) {
      response.end(body.length === 1 ? body[0] : body.join(''), encoding);
      return;
    }
    if (isLarge) {
      sendInParts(response, toBuffer(body, bytes, encoding), room);
      return;
    }
    // Sent together, and joined by nobody.
    response.cork();
    response.flushHeaders();
    const last = body.length - 1;
    for (let index = 0; index < last; index++) response.write(body[index], encoding);
    response.end(body[last], encoding);
  }

  private writeHead(response: ServerResponse, status: number): void {
    if (response.getHeaderNames().length === 0) {
      response.writeHead(status, this.headers);
      return;
    }
    this.copyHeaders(response);
    response.writeHead(status);
  }

  /** Sets the headers on a response that may have some of another middleware, which stay. */
  private copyHeaders(response: ServerResponse): void {
    const { headers } = this;
    const own = new Set(response.getHeaderNames());
    for (let index = 0; index < headers.length; index += 2) {
      const [name = '', value = ''] = headers.slice(index, index + 2);
      if (listHeaders.has(name) || !own.has(name.toLowerCase())) response.appendHeader(name, value);
    }
  }

  private indexOf(name: string): number {
    const { headers } = this;
    for (let index = 0; index < headers.length; index += 2) if (headers[index] === name) return index;
    return -1;
  }
}

function toBuffer(body: readonly string[], bytes: number, encoding: BufferEncoding): Buffer {
  const buffer = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const part of body) at += buffer.write(part, at, encoding);
  return buffer;
}

/**
 * Sends a response that waits for its reader, and holds its room until it is sent or the reader takes nothing any more. The system takes a
 * small response at once.
 */
function sendInParts(response: ServerResponse, body: Buffer, room?: OpenRoom): void {
  if (response.destroyed) {
    room?.close();
    return;
  }
  let taken = 0;
  const cut = () => response.destroy();
  const timer = setTimeout(cut, answerLimits.leaveMs).unref();
  room?.settle(body.length);
  room?.sendOver({ taken: () => taken, cut });
  response.once('close', () => {
    clearTimeout(timer);
    room?.close();
  });
  const goOn = (): void => {
    timer.refresh();
    for (let at = taken; at < body.length; at = taken) {
      taken = Math.min(at + answerLimits.partBytes, body.length);
      if (response.write(body.subarray(at, taken))) continue;
      response.once('drain', goOn);
      return;
    }
    response.end();
  };
  goOn();
}

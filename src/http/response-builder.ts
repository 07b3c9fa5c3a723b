import type { ServerResponse } from 'node:http';
import type { ParameterizedContext } from 'koa';
import { answerLimits } from '#src/contract/limits.js';
import type { OpenBudget } from '#src/platform/admission/response-budget.js';

/** List headers: values set by other middleware are kept in addition to those of the builder. */
const listHeaders: ReadonlySet<string> = new Set(['Set-Cookie', 'Vary']);

/**
 * Bodies of up to this many characters are joined into one string, which Node joins with the head. Writing one string instead of three
 * gains 9 % of the requests per CPU-second on a document. Longer bodies are not joined: each join copies them, which costs half of the
 * memory of a list of 25 documents.
 */
const joinedCharacters = 4096;

/**
 * Headers and body of a response; the status is `ctx.status`. They bypass `ctx.set` and `ctx.body`, because Node sets all headers at once
 * for less. Setting them one by one costs 6 to 8 % of the requests per CPU-second for `GET /v1/account` and for a document.
 */
export class ResponseBuilder {
  /** Parts that are sent together, or compressed bytes. Empty for a response without a body; undefined if there is no response yet. */
  body: readonly string[] | Buffer | undefined;
  /**
   * True if the body does not combine secrets with text chosen by a caller: the length of a compressed body would leak the secret (BREACH).
   */
  isCompressible = false;
  /** Alternating names and values, as in `writeHead`. */
  private readonly headers: string[];

  constructor(fixedHeaders: readonly string[], requestId: string) {
    this.headers = [...fixedHeaders, 'X-Request-Id', requestId];
  }

  /** Returns the value of a header; the name is case-sensitive. */
  get(name: string): string | undefined {
    const index = this.indexOf(name);
    return index === -1 ? undefined : this.headers[index + 1];
  }

  /** Sets a header, replacing one of the same name. */
  set(name: string, value: string): void {
    const index = this.indexOf(name);
    if (index === -1) this.headers.push(name, value);
    else this.headers[index + 1] = value;
  }

  /** Adds a header in addition to those of the same name. */
  append(name: string, value: string): void {
    this.headers.push(name, value);
  }

  /** Adds request headers to `Vary`. */
  vary(...names: readonly string[]): void {
    const before = this.get('Vary');
    this.set('Vary', [...(before === undefined ? [] : [before]), ...names].join(', '));
  }

  /** Writes the response. If middleware answered with `ctx.body` or only `ctx.status`, Koa writes it with the headers set here. */
  write(ctx: ParameterizedContext, budget?: OpenBudget): void {
    const { body } = this;
    if (body === undefined || ctx.body !== undefined) {
      budget?.close();
      this.copyHeaders(ctx.res);
      return;
    }
    ctx.respond = false;
    this.writeBody(ctx.res, ctx.status, body, budget);
  }

  /** Writes the head of an event stream, which ends with the connection. */
  writeStreamHead(ctx: ParameterizedContext): void {
    this.set('Content-Type', 'text/event-stream; charset=utf-8');
    this.set('Cache-Control', 'no-store');
    // Prevents proxies from buffering the stream.
    this.set('X-Accel-Buffering', 'no');
    this.set('Connection', 'close');
    this.writeHeadOnly(ctx);
    ctx.res.flushHeaders();
  }

  /** Writes the head of a response whose body is written elsewhere. */
  writeHeadOnly(ctx: ParameterizedContext): void {
    ctx.respond = false;
    this.writeHead(ctx.res, ctx.status);
  }

  /** Writes head and body. HEAD requests get only the length of the body. */
  private writeBody(
    response: ServerResponse,
    status: number,
    body: readonly string[] | Buffer,
    budget?: OpenBudget,
  ): void {
    const { bytes, characters } = Buffer.isBuffer(body) ? { bytes: body.length, characters: 0 } : sizeOf(body);
    const isLarge = bytes > answerLimits.watched;
    if (!isLarge) budget?.close();
    if (body.length > 0) this.headers.push('Content-Length', String(bytes));
    this.writeHead(response, status);
    if (body.length === 0 || response.req.method === 'HEAD') {
      budget?.close();
      response.end();
      return;
    }
    // Equal numbers of bytes and characters mean ASCII. Node copies it without encoding if it is declared as Latin-1.
    const encoding = bytes === characters ? 'latin1' : 'utf8';
    if (Buffer.isBuffer(body)) {
      if (isLarge) sendInParts(response, body, budget);
      else response.end(body);
      return;
    }
    if (characters <= joinedCharacters) {
      response.end(body.length === 1 ? body[0] : body.join(''), encoding);
      return;
    }
    if (isLarge) {
      sendInParts(response, toBuffer(body, bytes, encoding), budget);
      return;
    }
    // Sent together without joining.
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

  /** Copies the headers to a response. Headers already set by middleware are kept. */
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

function sizeOf(body: readonly string[]): { readonly bytes: number; readonly characters: number } {
  let [bytes, characters] = [0, 0];
  for (const part of body) {
    bytes += Buffer.byteLength(part);
    characters += part.length;
  }
  return { bytes, characters };
}

function toBuffer(body: readonly string[], bytes: number, encoding: BufferEncoding): Buffer {
  const buffer = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const part of body) at += buffer.write(part, at, encoding);
  return buffer;
}

/**
 * Sends a large response in chunks. Keeps its memory budget until the response is sent or the client stops reading. Small responses fit
 * into the buffer of the operating system.
 */
function sendInParts(response: ServerResponse, body: Buffer, budget?: OpenBudget): void {
  if (response.destroyed) {
    budget?.close();
    return;
  }
  let taken = 0;
  const cut = () => response.destroy();
  const timer = setTimeout(cut, answerLimits.leaveMs).unref();
  budget?.shrinkTo(body.length);
  budget?.sendOver({ taken: () => taken, cut });
  response.once('close', () => {
    clearTimeout(timer);
    budget?.close();
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

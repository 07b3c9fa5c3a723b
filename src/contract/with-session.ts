/** An answer that brings its caller a session besides: the session becomes a cookie, the body is the answer alone. */
export class WithSession<T = unknown> {
  readonly answer: T;
  readonly session: { readonly secret: string; readonly expire: string };

  constructor(answer: T, session: { readonly secret: string; readonly expire: string }) {
    this.answer = answer;
    this.session = session;
  }
}

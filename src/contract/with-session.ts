/** An answer that brings its caller a session, or a new secret of it, besides; the transport hands it over, the body is the answer alone. */
export class WithSession<T = unknown> {
  readonly answer: T;
  readonly session: { readonly secret: string; readonly expire: string };

  constructor(answer: T, session: { readonly secret: string; readonly expire: string }) {
    this.answer = answer;
    this.session = session;
  }
}

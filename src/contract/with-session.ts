/** A result with a session for its caller, or a new secret of it. The transport sends the session; the body contains only the result. */
export class WithSession<T = unknown> {
  readonly answer: T;
  readonly session: { readonly secret: string; readonly expire: string };

  constructor(answer: T, session: { readonly secret: string; readonly expire: string }) {
    this.answer = answer;
    this.session = session;
  }
}

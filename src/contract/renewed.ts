import type { Instant } from './shapes.js';

/** An answer, and a new secret of the caller's session, which the transport hands over in place of the old one. */
export class Renewed<T = unknown> {
  readonly answer: T;
  readonly session: { readonly secret: string; readonly expire: Instant };

  constructor(answer: T, session: Renewed['session']) {
    this.answer = answer;
    this.session = session;
  }
}

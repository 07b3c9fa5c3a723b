/** What ties a login that leads through another site to the browser that began it: a cookie, of which the service keeps a digest. */
export interface Binding {
  /** Names the cookie. */
  readonly id: string;
  readonly secret: string;
  readonly lifeSeconds: number;
  /** Whether the way back is a form that the other site posts: browsers send no `SameSite=Lax` cookie with it. */
  readonly isPosted: boolean;
}

/** The browser behind a request that it makes by opening an address. */
export interface Browser {
  /** Leads the errors of this request to a page of the application from now on; otherwise a page of the service shows them, or the envelope answers. */
  leadErrorsTo(page: URL): void;
  /** Names the page of the application that the login ends at: pages of the service that come before it lead there. */
  endAt(page: URL): void;
  /** Gives the browser the cookie of a login that it begins. */
  bind(binding: Binding): void;
  /** The secret in such a cookie, which is taken away; null where the browser has none. */
  takeBinding(id: string): string | null;
}

/** Stands for the browser where there is none, such as for commands. */
export const noBrowser: Browser = { leadErrorsTo: () => {}, endAt: () => {}, bind: () => {}, takeBinding: () => null };

/** An answer that sends the browser to another address (RFC 9110 §15.4.3). */
export class Redirect {
  readonly location: string;

  constructor(location: URL | string) {
    this.location = String(location);
  }
}

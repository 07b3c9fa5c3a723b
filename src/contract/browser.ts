/** Binds a login through another site to the browser that started it: a cookie, stored by the service as a digest. */
export interface Binding {
  /** Part of the cookie's name. */
  readonly id: string;
  readonly secret: string;
  readonly lifeSeconds: number;
  /** True if the other site returns the browser with a form POST, which carries no `SameSite=Lax` cookie. */
  readonly isPosted: boolean;
}

/** A page as HTML, and the nonce required for its scripts and styles. */
export interface HtmlPage {
  readonly html: string;
  readonly nonce: string;
  /** Origins that its forms may be sent to besides the service; absent if it has no forms. */
  readonly formTargets?: readonly string[];
  /** True if it frames other pages of the service. */
  readonly hasFrames?: true;
  /** True if it shows a viewer of `templates/viewers/`, which adds styles while it runs and starts workers. */
  readonly hasViewer?: true;
  /** True for the HTML of a mail: shown in a frame of the service, without scripts, with styles of its own. */
  readonly isMail?: true;
}

/** The browser of a request that opens an address. */
export interface Browser {
  /**
   * Redirects further errors of this request to a page of the application. Otherwise a page of the service shows them, or the error
   * envelope is returned.
   */
  leadErrorsTo(page: URL): void;
  /** Shows a further error of this request as this page, which contains its message. */
  showErrorAs(page: HtmlPage): void;
  /** Sets the page of the application that the login ends at; earlier pages of the service link to it. */
  endAt(page: URL): void;
  /** Sets the binding cookie of a login that starts. */
  bind(binding: Binding): void;
  /** Returns the secret of a binding cookie and deletes the cookie; null if the browser has none. */
  takeBinding(id: string): string | null;
}

/** For callers without a browser, such as commands. */
export const noBrowser: Browser = {
  leadErrorsTo: () => {},
  showErrorAs: () => {},
  endAt: () => {},
  bind: () => {},
  takeBinding: () => null,
};

/** A response that redirects the browser to another address (RFC 9110 §15.4.3). */
export class Redirect {
  readonly location: string;

  constructor(location: URL | string) {
    this.location = String(location);
  }
}

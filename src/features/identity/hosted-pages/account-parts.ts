import type { KeptInput } from './problem.js';

/** Values of a page by name. */
export type Values = Readonly<Record<string, string>>;

/** The parts of an account page that depend on the account. */
export interface AccountShown {
  readonly values: Values;
  readonly fragments: Values;
  /** Values that the fields have at first. */
  readonly typed: KeptInput;
}

/** Secrets that the service has just created for the caller. No later page shows them again. */
export interface Received {
  /** The provisioning URI of an authenticator app that is being added. */
  readonly uri?: string | undefined;
  readonly codes?: readonly string[];
}

/** Carries a request with an `Idempotency-Key` out, or returns the answer that one of the same content was given before. */
export type CarryOutOnce = (
  content: unknown,
  run: (request: IdempotentRequest) => Promise<unknown>,
) => Promise<unknown>;

/** A request that has an `Idempotency-Key` and is being carried out. */
export interface IdempotentRequest {
  /** Of the key, the caller, the project and the operation. */
  readonly hash: string;
  /** Names this attempt: another one that has taken the request over may be the only one to finish it. */
  readonly claim: string;
  /** Takes so many bytes for the answer; false where it is too large, or too many answers are kept. */
  readonly takesBytes: (bytes: number) => boolean;
  /** Whether the unit of work that does what is asked has kept the answer; otherwise it is kept afterwards. */
  kept: boolean;
}

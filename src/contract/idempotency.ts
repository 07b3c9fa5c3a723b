/** Executes a request with an `Idempotency-Key`, or returns the stored response to an earlier one with the same content. */
export type CarryOutOnce = (
  content: unknown,
  run: (request: IdempotentRequest) => Promise<unknown>,
) => Promise<unknown>;

/** A running request with an `Idempotency-Key`. */
export interface IdempotentRequest {
  /** Hash of the key, the caller, the project and the operation. */
  readonly hash: string;
  /** Identifies this attempt. If another attempt has taken over the request, only that one can finish it. */
  readonly claim: string;
  /** Reserves bytes for the stored response; false if it is too large, or too many responses are stored. */
  readonly takesBytes: (bytes: number) => boolean;
  /** Seals a response that must not be stored as it is. */
  readonly seal: (answer: string) => string;
  /** True if the unit of work that made the change has stored the response; otherwise it is stored afterwards. */
  kept: boolean;
}

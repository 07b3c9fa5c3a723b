/** Why a response or a document of an identity provider does not count: for the log and the audit log, never for clients. */
export type RefusalReason =
  | 'not base64'
  | 'too large or too deep'
  | 'not utf-8'
  | 'malformed xml'
  | 'doctype, comment or cdata'
  | 'entity'
  | 'no response'
  | 'version'
  | 'repeated id'
  | 'status'
  | 'form of the encryption'
  | 'algorithm of the encryption'
  | 'decryption'
  | 'encrypted id'
  | 'number or place of assertions'
  | 'number or place of signatures'
  | 'form of the signature'
  | 'reference of the signature'
  | 'transforms of the signature'
  | 'algorithm of the signature'
  | 'signature'
  | 'issuer'
  | 'destination'
  | 'in response to'
  | 'subject confirmation'
  | 'recipient'
  | 'confirmation expired'
  | 'conditions'
  | 'conditions expired'
  | 'not yet valid'
  | 'audience'
  | 'form of the assertion'
  | 'replayed';

/** Something of an identity provider that does not hold. */
export class SamlRefused extends Error {
  readonly reason: RefusalReason;
  /** The last word of the status code with which the provider has refused the login itself. */
  readonly status: string | undefined;

  constructor(reason: RefusalReason, status?: string) {
    super(reason);
    this.reason = reason;
    this.status = status;
  }
}

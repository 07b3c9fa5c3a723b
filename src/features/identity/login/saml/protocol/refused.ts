/** The reason for refusing a response or a document of an identity provider; for the log and the audit log, never for clients. */
export type RefusalReason =
  | 'not base64'
  | 'too large or too deep'
  | 'not utf-8'
  | 'malformed xml'
  | 'doctype, comment or cdata'
  | 'entity'
  | 'no response'
  | 'no such provider'
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

/** Thrown for an invalid response or document of an identity provider. */
export class SamlRefused extends Error {
  readonly reason: RefusalReason;
  /** The last segment of the status code if the provider itself refused the login. */
  readonly status: string | undefined;

  constructor(reason: RefusalReason, status?: string) {
    super(reason);
    this.reason = reason;
    this.status = status;
  }
}

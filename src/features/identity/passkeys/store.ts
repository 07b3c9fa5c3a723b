import type { Instant } from '#src/contract/shapes.js';
import type { Sql } from '#src/platform/db/query.js';
import { bigint, bool, instant, jsonText, nullable, table, text } from '#src/platform/db/table.js';

/** Passkeys of users. Credential ids and public keys are base64url; neither is secret. */
export const passkeys = table('passkeys', {
  id: text,
  projectId: text,
  userId: text,
  credentialId: text,
  publicKey: text,
  counter: bigint,
  backupEligible: bool,
  /** As sent by the browser; empty if it sent none. */
  transports: jsonText<readonly string[]>(),
  name: text,
  accessedAt: nullable(instant),
  createdAt: instant,
  updatedAt: instant,
});

/** A passkey as stored. */
export type PasskeyRow = ReturnType<typeof passkeys.decode>;

/** Challenges of pending ceremonies: a digest of each, and a keyed digest of its subject. */
export const webauthnChallenges = table('webauthn_challenges', {
  projectId: text,
  digest: text,
  purpose: text,
  subject: text,
  expire: instant,
  createdAt: instant,
});

type WebauthnChallengeRow = ReturnType<typeof webauthnChallenges.decode>;

/** SQL over passkeys and the challenges of their ceremonies. */
export function createPasskeyStore(sql: Sql) {
  return {
    ofUser: ({ projectId, userId }: { projectId: string; userId: string }) => sql`
      select ${passkeys.row} from passkeys where project_id = ${projectId} and user_id = ${userId}
      order by created_at, id`,
    byCredential: ({ projectId, credentialId }: { projectId: string; credentialId: string }) =>
      sql`select ${passkeys.row} from passkeys where project_id = ${projectId} and credential_id = ${credentialId}`,
    /** Returns no row if the credential is already registered. */
    insert: (row: PasskeyRow) => sql`${passkeys.insert(row)} on conflict do nothing returning id`,
    rename: (projectId: string, id: string, name: string, updatedAt: Instant) => sql`
      update passkeys set name = ${name}, updated_at = ${updatedAt} where project_id = ${projectId} and id = ${id}`,
    /** Sets the counter. Changes nothing if the passkey was removed or a parallel login has changed the counter. */
    use: ({ projectId, id, userId, counter }: PasskeyRow, next: number, now: Instant) => sql`
      update passkeys set counter = ${next}, accessed_at = ${now}
      where project_id = ${projectId} and id = ${id} and user_id = ${userId} and counter = ${counter}`,
    remove: (projectId: string, id: string) => sql`delete from passkeys where project_id = ${projectId} and id = ${id}`,

    putChallenge: (row: WebauthnChallengeRow) => sql`${webauthnChallenges.insert(row)}`,
    /** Deletes a challenge and returns it. Of parallel calls only one gets it. */
    takeChallenge: (projectId: string, digest: string) => sql`
      delete from webauthn_challenges where project_id = ${projectId} and digest = ${digest}
      returning ${webauthnChallenges.row}`,
    pruneChallenges: (before: Instant, max: number) => sql`
      delete from webauthn_challenges where (project_id, digest) in
        (select project_id, digest from webauthn_challenges where expire < ${before} limit ${max})`,
  };
}

/** Queries over passkeys. */
export type PasskeyStore = ReturnType<typeof createPasskeyStore>;

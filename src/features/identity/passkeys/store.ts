import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
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
  const { knex } = sql;
  const one = (projectId: string, id: string) => knex(passkeys.name).where({ project_id: projectId, id });
  return {
    ofUser: sql.prepare<{ projectId: string; userId: string }>((k, p) =>
      k(passkeys.name)
        .where({ project_id: p.projectId, user_id: p.userId })
        .orderBy(['created_at', 'id'])
        .select(passkeys.select(sql)),
    ),
    byCredential: sql.prepare<{ projectId: string; credentialId: string }>((k, p) =>
      k(passkeys.name).where({ project_id: p.projectId, credential_id: p.credentialId }).select(passkeys.select(sql)),
    ),
    /** Returns no row if the credential is already registered. */
    insert: (row: PasskeyRow): Query =>
      sql.compile(knex(passkeys.name).insert(passkeys.encode(row)).onConflict().ignore().returning('id')),
    rename: (projectId: string, id: string, name: string, updatedAt: Instant): Query =>
      sql.compile(one(projectId, id).update({ name, updated_at: updatedAt })),
    /** Sets the counter. Changes nothing if the passkey was removed or a parallel login has changed the counter. */
    use: ({ projectId, id, userId, counter }: PasskeyRow, next: number, now: Instant): Query =>
      sql.compile(
        one(projectId, id).andWhere({ user_id: userId, counter }).update({ counter: next, accessed_at: now }),
      ),
    remove: (projectId: string, id: string): Query => sql.compile(one(projectId, id).delete()),

    putChallenge: (row: WebauthnChallengeRow): Query =>
      sql.compile(knex(webauthnChallenges.name).insert(webauthnChallenges.encode(row))),
    /** Deletes a challenge and returns it. Of parallel calls only one gets it. */
    takeChallenge: (projectId: string, digest: string): Query =>
      // Knex omits `returning` for deletes on SQLite.
      sql.compile(
        knex.raw('? returning ?', [
          knex(webauthnChallenges.name).where({ project_id: projectId, digest }).delete(),
          webauthnChallenges.select(sql),
        ]),
      ),
    pruneChallenges: (before: Instant, max: number): Query =>
      sql.compile(
        knex(webauthnChallenges.name)
          .whereIn(
            ['project_id', 'digest'],
            knex(webauthnChallenges.name).where('expire', '<', before).limit(max).select('project_id', 'digest'),
          )
          .delete(),
      ),
  };
}

/** Queries over passkeys. */
export type PasskeyStore = ReturnType<typeof createPasskeyStore>;

import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Runtime } from '#src/platform/index.js';
import type { Identities } from '../../../identities/index.js';
import type { Providers } from '../../../providers/index.js';
import type { OAuth2Client } from './client.js';

interface Deps {
  readonly client: OAuth2Client;
  readonly providers: Providers;
  readonly identities: Identities;
  readonly kindNames: readonly string[];
  /** Runs a call to a provider and logs its failure. */
  reported<T>(project: Project, key: string, act: () => Promise<T>): Promise<T>;
}

/**
 * Refreshes the access token of the identity that opened a session, before the session is extended. If the provider refuses or cannot be
 * reached, the session is extended anyway; the token and its expiry stay unchanged.
 */
export function createTokenRefresh(
  { db }: Pick<Runtime, 'db'>,
  { client, providers, identities, kindNames, reported }: Deps,
) {
  return async (context: AuditContext, project: Project, session: Session): Promise<void> => {
    const { provider: key, providerUid } = session;
    const identity = await identities.find(db, project, key, providerUid);
    if (identity?.userId !== session.userId) return;
    const { refreshToken } = identities.tokensOf(project, identity);
    if (refreshToken === '') return;
    try {
      const provider = await providers.getEnabled(db, project, key, kindNames);
      const tokens = await reported(project, key, () => client.refresh(project, provider, refreshToken));
      await db.work(context, (unit) => identities.replaceTokens(unit, project, identity, tokens));
    } catch (error) {
      const isRefused = error instanceof Failure && error.type !== 'general_unavailable';
      if (!isRefused) throw error;
    }
  };
}

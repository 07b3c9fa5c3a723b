import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Runtime } from '#src/platform/index.js';
import type { Identities } from '../../../identities/index.js';
import type { Providers } from '../../../providers/index.js';
import type { createOAuth2Client } from './client.js';

interface Deps {
  readonly client: ReturnType<typeof createOAuth2Client>;
  readonly providers: Providers;
  readonly identities: Identities;
  readonly kindNames: readonly string[];
  /** Runs a call to a provider and logs what comes of it. */
  reported<T>(project: Project, key: string, act: () => Promise<T>): Promise<T>;
}

/**
 * Refreshes the access token of the identity that a session was opened by, before the session is extended. A provider that refuses or cannot be
 * reached keeps nobody from that: the token stays as it is, and its expiry tells.
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

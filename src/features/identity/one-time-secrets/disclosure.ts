import type { Actor } from '#src/contract/actor.js';
import type { RequestFacts } from '#src/contract/operation.js';
import { isOnLocalhost } from '#src/platform/config/localhost.js';
import type { Runtime } from '#src/platform/index.js';

/** The caller and its request. */
interface Asking {
  readonly actor: Actor;
  readonly request: RequestFacts;
}

/** Decides whether the response to a request for a one-time secret contains the secret. */
export function createDisclosure({ config }: Pick<Runtime, 'config'>) {
  const isLocalOnly = isOnLocalhost(config.baseUrl) && config.trustedProxies.length === 0;
  const mayAnybody = (request: RequestFacts): boolean =>
    config.tokensInResponse === 'any' || (config.tokensInResponse === 'auto' && isLocalOnly && request.isLocal);
  return {
    /** Login secrets: only for server keys. */
    ofLogin: ({ actor }: Asking, secret: string): string => (actor.kind === 'key' ? secret : ''),
    /**
     * Secrets for verification and recovery: for server keys and, if no mail is configured, for the callers allowed by
     * `SVC_TOKENS_IN_RESPONSE`.
     */
    ofProof: ({ actor, request }: Asking, secret: string): string => {
      if (config.tokensInResponse === 'never') return '';
      if (actor.kind === 'key') return secret;
      return config.smtpUrl === undefined && mayAnybody(request) ? secret : '';
    },
  };
}

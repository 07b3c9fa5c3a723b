import type { Actor } from '#src/contract/actor.js';
import type { RequestFacts } from '#src/contract/operation.js';
import { isOnLocalhost } from '#src/platform/config/localhost.js';
import type { Runtime } from '#src/platform/index.js';

/** Who asks, and from where. */
interface Asking {
  readonly actor: Actor;
  readonly request: RequestFacts;
}

/** Decides what of a one-time secret stands in the answer to the request that asked for it. */
export function createDisclosure({ config }: Pick<Runtime, 'config'>) {
  const isLocalOnly = isOnLocalhost(config.baseUrl) && config.trustedProxies.length === 0;
  const mayAnybody = (request: RequestFacts): boolean =>
    config.tokensInResponse === 'any' || (config.tokensInResponse === 'auto' && isLocalOnly && request.isLocal);
  return {
    /** A secret that logs in: for server keys only. */
    ofLogin: ({ actor }: Asking, secret: string): string => (actor.kind === 'key' ? secret : ''),
    /** A secret that verifies or recovers: for server keys and, where no mail is configured, for whom `SVC_TOKENS_IN_RESPONSE` says. */
    ofProof: ({ actor, request }: Asking, secret: string): string => {
      if (config.tokensInResponse === 'never') return '';
      if (actor.kind === 'key') return secret;
      return config.smtpUrl === undefined && mayAnybody(request) ? secret : '';
    },
  };
}

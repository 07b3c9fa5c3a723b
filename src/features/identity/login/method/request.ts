import { auditContextOf } from '#src/contract/operation.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { Runtime } from '#src/platform/index.js';
import type { MessageName, MessageVariables } from '../../../installation/index.js';
import type { BrowserCall } from '../../external-logins/index.js';
import { createDisclosure, type Issued, toToken } from '../../one-time-secrets/index.js';
import type { LoginDeps, SentSecret } from './method.js';

/** A call that requests a code or a link. */
interface RequestCall extends BrowserCall {
  readonly body: { readonly userId: string };
}

/**
 * Handles requests for a login code or link. Known and unknown addresses get the same response after the same work. The id in the response
 * is the requested one, or a random one if that is taken; only redeeming the secret reveals or creates the user.
 */
export function createLoginRequest<M extends MessageName>(
  { db, random, config }: Pick<Runtime, 'db' | 'random' | 'config'>,
  { users, limits, secrets, courier }: Pick<LoginDeps, 'users' | 'limits' | 'secrets' | 'courier'>,
  { purpose, contact, form, lifeSeconds }: SentSecret<M>,
) {
  const disclosure = createDisclosure({ config });
  /** The response contains `phrase`; the message must show it too. */
  return async (
    call: RequestCall,
    recipient: string,
    phrase: string,
    variablesOf: (issued: Issued) => MessageVariables<M>,
  ): Promise<ReturnType<typeof toToken>> => {
    const { project, actor, request, body } = call;
    const issued = await db.work(auditContextOf(call), async (unit) => {
      const account = await users.lockByContact(unit, project.id, contact, recipient);
      await limits.requireSend(unit, contact === 'email' ? 'mail' : 'sms', recipient);
      const userId = account?.id ?? null;
      // An id that is or was taken must not lead to another account. The check depends on the id alone, not on the address.
      const isFree = body.userId !== uniqueId && !(await users.isIdTaken(unit, project.id, body.userId));
      const answeredId = isFree ? body.userId : random.id();
      // A server key may look up users anyway.
      const alias = actor.kind === 'key' ? (userId ?? answeredId) : answeredId;
      const subject = recipient;
      const wanted = { purpose, subject, userId, alias, recipient, form, lifeSeconds };
      const secret = await secrets.issue(unit, project, wanted);
      const locale = request.locale ?? account?.locale ?? null;
      const addressee = { to: recipient, userId, name: account?.name ?? '', locale };
      courier.send(unit, project, { message: purpose, ...addressee, variables: variablesOf(secret) });
      return secret;
    });
    return toToken(issued, disclosure.ofLogin(call, issued.secret), phrase);
  };
}

import type { Actor } from '#src/contract/actor.js';
import { by, type RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Platform } from '#src/platform/index.js';
import type { Accounts } from '../accounts/index.js';
import type { Limits } from '../limits/index.js';
import { createDisclosure, type Issued, type OneTimeSecrets, toToken } from '../one-time-secrets/index.js';

/** A call that asks for a code or a link. */
interface Asking {
  readonly project: Project;
  readonly actor: Actor;
  readonly request: RequestFacts;
  readonly body: { readonly userId: string };
}

/** Whom a message goes to. */
interface Addressee {
  readonly to: string;
  readonly userId: string | null;
  readonly name: string;
  readonly locale: string | null;
}

/** What is asked for. */
interface Wanted {
  readonly purpose: 'magic-link' | 'email-code' | 'phone-code';
  readonly form: 'code' | 'link';
  readonly lifeSeconds: number;
  readonly contact: 'email' | 'phone';
  /** The address or number. */
  readonly recipient: string;
  /** Words for the answer; the message has to show them too. */
  readonly phrase?: string;
  readonly send: (unit: Unit, addressee: Addressee, issued: Issued) => void;
}

interface Doors {
  readonly accounts: Accounts;
  readonly limits: Limits;
  readonly secrets: OneTimeSecrets;
}

/**
 * Requests of codes and links that log in. An address that is known and one that is not get the same answer by the same work: the id in the
 * answer is the one that was given, and only redeeming the secret tells, or makes, the user behind it.
 */
export function createLoginRequest(
  { db, random, config }: Pick<Platform, 'db' | 'random' | 'config'>,
  { accounts, limits, secrets }: Doors,
) {
  const disclosure = createDisclosure({ config });
  return async (call: Asking, wanted: Wanted): Promise<ReturnType<typeof toToken>> => {
    const { project, actor, request, body } = call;
    const { purpose, form, lifeSeconds, contact, recipient } = wanted;
    const given = body.userId === uniqueId ? random.id() : body.userId;
    const issued = await db.work(by(call), async (unit) => {
      const refused = await limits.demandSend(unit, contact === 'email' ? 'mail' : 'sms', recipient);
      if (refused !== undefined) return refused;
      const account = await accounts.holdByContact(unit, project.id, contact, recipient);
      const userId = account?.id ?? null;
      // A server may look users up anyway.
      const alias = actor.kind === 'key' ? (userId ?? given) : given;
      const secret = await secrets.issue(unit, project, {
        ...{ purpose, subject: recipient, userId, alias, recipient, form, lifeSeconds },
      });
      const locale = request.locale ?? account?.locale ?? null;
      wanted.send(unit, { to: recipient, userId, name: account?.name ?? '', locale }, secret);
      return secret;
    });
    return toToken(issued, disclosure.ofLogin(call, issued.secret), wanted.phrase);
  };
}

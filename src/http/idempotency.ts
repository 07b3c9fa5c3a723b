import { Failure } from '#src/contract/errors.js';
import { idempotencyLimits } from '#src/contract/limits.js';
import { auditContextOf, type Operation } from '#src/contract/operation.js';
import type { Features } from '#src/features/index.js';
import { addressKey } from '#src/platform/limiter.js';
import type { RequestContext } from './request-context.js';

/** What an `Idempotency-Key` may look like. */
const keyForm = new RegExp(`^[\\x21-\\x7e]{1,${idempotencyLimits.key}}$`);

/** The operation of a request; one that declares it carries a request with an `Idempotency-Key` out once. */
export function createOnce({ idempotency }: Pick<Features, 'idempotency'>) {
  return (context: RequestContext, operation: Operation): Operation => {
    const { declaration } = operation;
    const key = context.req.headers['idempotency-key'];
    if (key === undefined || declaration.idempotent === undefined) return operation;
    if (!declaration.idempotent)
      throw new Failure('general_argument_invalid', {
        message: 'This route takes no Idempotency-Key: what it does cannot be carried out once. Use the REST routes.',
      });
    if (typeof key !== 'string' || !keyForm.test(key))
      throw new Failure('general_argument_invalid', {
        message: `The header Idempotency-Key takes 1 to ${idempotencyLimits.key} visible ASCII characters.`,
      });
    return {
      ...operation,
      handle: (call) => {
        const { actor, params, query, body, request } = call;
        const projectId = context.project?.id ?? '';
        const caller = actor.kind === 'guest' ? `guest:${addressKey(context.ip)}` : `${actor.kind}:${actor.id}`;
        const known = [params, query, body, request.ifMatch ?? null];
        const { id, status } = declaration;
        const keyed = { projectId, caller, operation: operation.sameAs ?? id, key, status };
        const by = auditContextOf(call);
        if (declaration.upload)
          return operation.handle({
            ...call,
            request: {
              ...request,
              once: (content, run) => idempotency.once(by, { ...keyed, content: [known, content] }, run),
            },
          });
        return idempotency.once(by, { ...keyed, content: known }, async (idempotent) =>
          operation.handle({ ...call, request: { ...request, idempotent } }),
        );
      },
    };
  };
}

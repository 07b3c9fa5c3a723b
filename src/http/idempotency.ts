import { Failure } from '#src/contract/errors.js';
import { idempotencyLimits } from '#src/contract/limits.js';
import { auditContextOf, type Operation } from '#src/contract/operation.js';
import type { Features } from '#src/features/index.js';
import type { RequestContext } from './request-context.js';

/** The syntax of an `Idempotency-Key`. */
const keyForm = new RegExp(`^[\\x21-\\x7e]{1,${idempotencyLimits.key}}$`);

/** Returns the operation that carries out a request with an `Idempotency-Key` once. */
export type RunOnce = (context: RequestContext, operation: Operation) => Operation;

/**
 * Wraps operations that support `Idempotency-Key`, so that a request with a key runs once. Throws Failure if the key is malformed or the
 * operation rejects keys.
 */
export function createOnce({ idempotency }: Pick<Features, 'idempotency'>): RunOnce {
  return (context, operation) => {
    const { declaration, repeat } = operation;
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
    // Guests are not distinguishable by address, and must not get the responses of other guests.
    const { actor: caller } = context;
    if (caller === undefined || caller.kind === 'guest') return operation;
    return {
      ...operation,
      handle: (call) => {
        const { params, query, body, request } = call;
        const { id: projectId = '', dataKey = '' } = context.project ?? {};
        const known = [params, query, body, request.ifMatch ?? null];
        const keyed = {
          projectId,
          caller: `${caller.kind}:${caller.id}`,
          operation: operation.sameAs ?? declaration.id,
          key,
          dataKey,
          status: declaration.reply.status,
        };
        const by = auditContextOf(call);
        if (declaration.input?.upload)
          return operation.handle({
            ...call,
            request: {
              ...request,
              once: (content, run) => idempotency.once(by, { ...keyed, content: [known, content] }, run),
            },
          });
        return idempotency.once(
          by,
          { ...keyed, content: known },
          async (idempotent) => operation.handle({ ...call, request: { ...request, idempotent } }),
          repeat && ((kept) => repeat(call, kept)),
        );
      },
    };
  };
}

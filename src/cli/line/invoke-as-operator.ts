import { noBrowser } from '#src/contract/browser.js';
import type { Declaration } from '#src/contract/declaration.js';
import { type HandlerResult, invoke, type RawCall } from '#src/contract/operation.js';
import { operatorReading } from '#src/contract/reading.js';
import type { ApplianceCall } from './command.js';

type Input = Partial<Pick<RawCall, 'params' | 'query' | 'body'>>;

/** Invokes an API operation as the operator, with the same validation and reply as over REST. Throws Failure. */
export async function invokeAsOperator<D extends Declaration>(
  { runtime, features, auditContext, findProject }: ApplianceCall,
  declaration: D,
  { body, ...input }: Input = {},
): Promise<HandlerResult<D>> {
  const operation = features.operations.find((one) => one.declaration === declaration);
  if (operation === undefined) throw new Error(`no operation ${declaration.id}`);
  const project = await findProject();
  const { actor, requestId: id } = auditContext(project.id);
  const reply = await invoke(operation, {
    project,
    actor: { kind: 'operator', id: actor.id },
    params: {},
    query: {},
    // Members of flags that were not given.
    body: Object.fromEntries(Object.entries(body ?? {}).filter(([, value]) => value !== undefined)),
    ...input,
    request: {
      id,
      ip: '',
      userAgent: '',
      presentedSession: null,
      locale: null,
      isLocal: true,
      prefersPage: () => false,
      reading: operatorReading,
      charge: () => {},
      budget: runtime.budgets.open(operatorReading),
      browser: noBrowser,
    },
  });
  // A handler returns the type that its declaration states; the compiler checks this where the two are combined.
  return reply as HandlerResult<D>;
}

import { noBrowser } from '#src/contract/browser.js';
import type { Declaration } from '#src/contract/declaration.js';
import { type HandlerResult, invoke, type RawCall } from '#src/contract/operation.js';
import { operatorReading } from '#src/contract/reading.js';
import type { ApplianceCall } from './command.js';

type Input = Partial<Pick<RawCall, 'params' | 'query' | 'body'>>;

/** Invokes an API operation as the operator, with the same validation and reply as over REST. Throws Failure. */
export function invokeAsOperator<D extends Declaration>(
  call: ApplianceCall,
  declaration: D,
  input: Input = {},
): Promise<HandlerResult<D>> {
  return invokeInProject(call, call.args.required('--project'), declaration, input);
}

/** Invokes an API operation as the operator in a project. Throws Failure. */
export async function invokeInProject<D extends Declaration>(
  { runtime, features, auditContext }: Pick<ApplianceCall, 'runtime' | 'features' | 'auditContext'>,
  projectId: string,
  declaration: D,
  input: Input = {},
): Promise<HandlerResult<D>> {
  const operation = features.operations.find((one) => one.declaration === declaration);
  if (operation === undefined) throw new Error(`no operation ${declaration.id}`);
  const project = await features.projects.get(runtime.db, projectId);
  const { actor, requestId: id } = auditContext(project.id);
  const reply = await invoke(operation, {
    project,
    actor: { kind: 'operator', id: actor.id },
    params: {},
    query: {},
    body: {},
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

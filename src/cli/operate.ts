import type { z } from 'zod';
import { type Declaration, invoke, type RawCall, type Reply } from '#src/contract/operation.js';
import type { ApplianceCall } from './command.js';

type Given = Partial<Pick<RawCall, 'params' | 'query' | 'body'>>;
type Answered<D extends Declaration> = D['reply'] extends Reply<infer S> ? z.output<S> : undefined;

/** Runs an operation of the interface in the operator's name: what is given is checked, and answered, as over REST. Throws Failure. */
export async function operate<D extends Declaration>(
  { typed, appliance: { platform, features }, by }: ApplianceCall,
  declaration: D,
  given: Given = {},
): Promise<Answered<D>> {
  const operation = features.operations.find((one) => one.declaration === declaration);
  if (operation === undefined) throw new Error(`no operation ${declaration.id}`);
  const project = await features.projects.get(platform.db, typed.required('--project'));
  const { actor, requestId: id } = by(project.id);
  const reply = await invoke(operation, {
    ...{ project, actor: { kind: 'operator', id: actor.id }, params: {}, query: {}, body: {}, ...given },
    request: { id, ip: '', userAgent: '', presentedSession: null, locale: null, isLocal: true, charge: () => {} },
  });
  // The handler of a declaration returns what its reply says; the compiler has checked that where both stand together.
  return reply as Answered<D>;
}

import { toWireInstant } from '#src/contract/shapes.js';
import type { Provider } from './service.js';

/** Prints a provider for operators, with what its kind shows of its configuration. */
export function toProvider(provider: Provider, shown: Readonly<Record<string, unknown>>) {
  return {
    $id: provider.key,
    $createdAt: toWireInstant(provider.createdAt),
    $updatedAt: toWireInstant(provider.updatedAt),
    projectId: provider.projectId,
    key: provider.key,
    kind: provider.kind,
    name: provider.name,
    enabled: provider.enabled,
    ...shown,
  };
}

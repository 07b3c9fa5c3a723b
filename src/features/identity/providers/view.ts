import { toWireInstant } from '#src/contract/shapes.js';
import type { Provider } from './service.js';

/** Renders a provider for operators; `shown` is its configuration without secrets. */
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

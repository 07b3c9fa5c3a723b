// What the tests of logins at identity providers share: a server that may call this machine, and providers of its project.
import type { Provider } from '#src/features/identity/providers/index.js';
import { type ApplianceOptions, startAppliance, type TestAppliance } from '../harness/appliance.js';
import { type IdentityProvider, startIdentityProvider } from './identity-provider.js';

/** A server that may call local identity providers, which stand for those of the world. */
export function startOpen(options: ApplianceOptions = {}): Promise<TestAppliance> {
  return startAppliance({ ...options, settings: { SVC_WEBHOOK_ALLOW_INSECURE: 'true', ...options.settings } });
}

const operator = { kind: 'operator', id: 'harness' };

/** The address to which a provider sends browsers back. */
export function callbackOf(key: string, project = 'main'): string {
  return `http://localhost:8080/v1/account/sessions/oauth2/callback/${key}/${project}`;
}

/** Adds a provider as `svc provider add` does. */
export function addProvider(
  { appliance, project }: Pick<TestAppliance, 'appliance' | 'project'>,
  input: {
    readonly key: string;
    readonly kind: string;
    readonly name?: string;
    readonly config: Readonly<Record<string, unknown>>;
  },
): Promise<Provider> {
  const { runtime, features } = appliance;
  const by = { projectId: project.id, actor: operator, requestId: 'harness' };
  return runtime.db.work(by, (unit) => features.providers.add(unit, project, input));
}

/** A real identity provider, which the project knows under a key. */
export async function aProvider(target: TestAppliance, key = 'corp'): Promise<IdentityProvider> {
  const idp = await startIdentityProvider([callbackOf(key), callbackOf(key, 'neighbour')]);
  const { issuer, clientId, clientSecret } = idp;
  await addProvider(target, { key, kind: 'oidc', config: { issuer, clientId, clientSecret } });
  return idp;
}

import { providerLimits } from '#src/contract/limits.js';
import type { Runtime } from '#src/platform/index.js';
import { createProbe, distinct, type Provider, type ProviderFinding } from '../../providers/index.js';
import { type OAuth2Config, oauth2ConfigOf } from './providers/config.js';
import { builtIns, isPrivateKey } from './providers/index.js';
import { type Members, members } from './providers/profile.js';

const bounds = { timeoutMs: providerLimits.timeoutMs, maxBytes: providerLimits.answerBytes + 1 } as const;
const endpoints = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const;

/** Tests a provider: its discovery document, keys and endpoints, the clock, and the form of the client's credentials. */
export function createOAuth2Test(runtime: Pick<Runtime, 'egress' | 'clock' | 'config'>) {
  const { allowInsecure } = runtime.config;
  const probe = createProbe(runtime);

  const read = async (what: string, url: string): Promise<{ document?: Members; findings: ProviderFinding[] }> => {
    const { answer, findings } = await probe(what, url, bounds);
    if (answer === undefined) return { findings: [...findings] };
    const document = answer.status === 200 ? objectOf(answer.body) : undefined;
    if (document !== undefined) return { document, findings: [...findings] };
    const message = `${what} ${url} answers ${answer.status}, and not with a JSON object.`;
    const fix = 'check the issuer: the address of the discovery document without /.well-known/openid-configuration';
    return { findings: [...findings, { code: 'document_invalid', level: 'error', message, fix }] };
  };
  const testKeys = async (url: string): Promise<ProviderFinding[]> => {
    const { document, findings } = await read('The list of keys', url);
    if (document === undefined || listOf(document.keys).some(isUsable)) return findings;
    const message = `The list of keys ${url} has no public key that signs: ID tokens cannot be verified.`;
    const fix = 'let the provider sign ID tokens by an asymmetric algorithm, such as RS256';
    return [...findings, { code: 'keys_unusable', level: 'error', message, fix }];
  };
  const testDocument = async (provider: Provider, issuer: string): Promise<ProviderFinding[]> => {
    const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const { document, findings } = await read('The discovery document', url);
    if (document === undefined) return findings;
    const wrong = endpoints.flatMap((name) => endpointFindings(name, document[name], allowInsecure));
    const keys = wrong.some(({ message }) => message.includes('jwks_uri'))
      ? []
      : await testKeys(String(document.jwks_uri));
    return [...findings, ...issuerFindings(provider, issuer, document.issuer), ...wrong, ...keys];
  };
  /** For a provider without a discovery document, the test can only check that its endpoint responds. */
  const testEndpoint = async (url: string): Promise<ProviderFinding[]> => {
    const { answer, findings } = await probe('The token endpoint', url, bounds);
    if (answer === undefined || answer.status < 500) return [...findings];
    const message = `The token endpoint ${url} answers ${answer.status}.`;
    return [
      ...findings,
      { code: 'endpoint_fails', level: 'error', message, fix: 'look at the status page of the provider' },
    ];
  };

  return async (provider: Provider): Promise<readonly ProviderFinding[]> => {
    const config = oauth2ConfigOf(provider.config);
    const row = provider.kind === 'oidc' ? undefined : builtIns[provider.key];
    const issuer = row === undefined ? config.issuer : row.issuer?.(config);
    const called =
      issuer === undefined ? await testEndpoint(row?.endpoints?.token ?? '') : await testDocument(provider, issuer);
    return distinct([...clientFindings(provider, config, row?.secret === 'private key'), ...called]);
  };
}

/** True if a key of a JWK set can verify signatures (RFC 7517 §4). */
function isUsable(key: unknown): boolean {
  const { kty, use } = members(key);
  return ['RSA', 'EC', 'OKP'].includes(String(kty)) && (use === undefined || use === 'sig');
}

function endpointFindings(name: string, value: unknown, allowInsecure: boolean): ProviderFinding[] {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
  if (url?.protocol === 'https:' || (allowInsecure && url?.protocol === 'http:')) return [];
  const message = `The ${name} of the discovery document is no https address.`;
  return [{ code: 'endpoint_insecure', level: 'error', message, fix: 'let the provider publish https addresses' }];
}

/** Microsoft's document for all tenants has a placeholder as issuer. */
function issuerFindings({ key, projectId }: Provider, issuer: string, said: unknown): ProviderFinding[] {
  if (said === issuer || (typeof said === 'string' && said.includes('{tenantid}'))) return [];
  const message = `The discovery document names the issuer ${String(said).slice(0, 200)}, and ${issuer} is configured.`;
  const fix = `svc provider remove ${key} --project ${projectId}, then add it with exactly that issuer, to the last slash`;
  return [{ code: 'issuer_differs', level: 'error', message, fix }];
}

/** Checks the form of the client's credentials. Only a login shows whether the provider accepts them. */
function clientFindings({ key, projectId }: Provider, config: OAuth2Config, isKey: boolean): ProviderFinding[] {
  const { clientSecret } = config;
  const fix = `svc provider update ${key} --project ${projectId} --secret-file FILE`;
  if (isKey) {
    const message = 'The secret is no private key on the curve P-256.';
    return isPrivateKey(clientSecret) ? [] : [{ code: 'secret_invalid', level: 'error', message, fix }];
  }
  if (clientSecret === '')
    return [
      {
        code: 'secret_absent',
        level: 'warning',
        message: 'There is no client secret. Logins work only if the application is a public client at the provider.',
        fix,
      },
    ];
  if (clientSecret !== clientSecret.trim())
    return [
      { code: 'secret_padded', level: 'warning', message: 'The client secret begins or ends with white space.', fix },
    ];
  return [];
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function objectOf(body: Buffer): Members | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? members(value) : undefined;
  } catch {
    return undefined;
  }
}

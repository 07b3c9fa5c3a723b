import { Failure, invalidParam } from '#src/contract/errors.js';
import { providerLimits, samlLimits } from '#src/contract/limits.js';
import type { Runtime } from '#src/platform/index.js';
import { describeNetworkError } from '#src/platform/outbound/network-errors.js';
import { lazy } from '#src/platform/runtime/lazy.js';
import { invalidProvider, type ProviderConfig, type ProviderKind } from '../../providers/index.js';
import { addressesOf } from './addresses.js';
import { certificateOf, type SamlConfig, samlConfigOf, samlConfigShape } from './config.js';
import { createSamlTest } from './provider-test.js';

const protocol = lazy(() => import('./protocol/index.js'));

/** The kind of SAML 2.0 providers. */
export function createSamlKind(runtime: Pick<Runtime, 'egress' | 'clock' | 'config'>): ProviderKind {
  const { baseUrl, allowInsecure } = runtime.config;
  return {
    kind: 'saml',
    login: 'login.saml',
    startPath: 'account/sessions/saml',
    prepare: (...configs) => prepare(runtime.egress, ...configs),
    parse: (_, config) => parse(config, allowInsecure),
    identifiedBy: { entityId: 'entity id of the provider', uidAttribute: 'attribute that identifies users' },
    show: (config) => show(samlConfigOf(config)),
    addresses: (projectId, key) => {
      const { entityId, acsUrl } = addressesOf(baseUrl, projectId, key);
      return { spEntityId: entityId, acsUrl };
    },
    test: createSamlTest(runtime, async (...input) => (await protocol.get()).readMetadata(...input)),
  };
}

async function prepare(egress: Runtime['egress'], { metadata, ...config }: ProviderConfig, before?: ProviderConfig) {
  const wanted = config.entityId ?? before?.entityId;
  if (typeof metadata === 'string')
    return { metadataUrl: undefined, ...(await readMetadata(metadata, wanted)), ...config };
  if (typeof config.metadataUrl !== 'string') return config;
  return { ...(await readMetadata(await fetchMetadata(egress, config.metadataUrl), wanted)), ...config };
}

async function fetchMetadata(egress: Runtime['egress'], url: string): Promise<string> {
  egress.check(url);
  const bounds = { timeoutMs: providerLimits.timeoutMs, maxBytes: samlLimits.metadataBytes + 1 };
  try {
    const { status, body } = await egress.request({ method: 'GET', url, purpose: 'saml', ...bounds });
    if (status === 200) return body.toString('utf8');
    throw invalidProvider(`The address of the metadata answers ${status} instead of 200.`);
  } catch (error) {
    if (error instanceof Failure) throw error;
    const message = `The metadata cannot be read: ${describeNetworkError(error)}.`;
    throw new Failure('general_unavailable', { message });
  }
}

async function readMetadata(xml: string, wanted: unknown): Promise<ProviderConfig> {
  const { readMetadata: read, SamlRefused } = await protocol.get();
  try {
    const said = read(xml, typeof wanted === 'string' ? wanted : undefined);
    const { entityId, ssoUrl, ssoBinding, certificates, wantsSignedRequests } = said;
    return {
      entityId,
      certificates,
      ...(ssoUrl === undefined ? {} : { ssoUrl, ssoBinding }),
      // Metadata that does not require signed requests leaves the operator's setting unchanged.
      ...(wantsSignedRequests ? { signRequests: true } : {}),
    };
  } catch (error) {
    if (!(error instanceof SamlRefused)) throw error;
    throw invalidProvider(metadataProblems[error.reason] ?? `The metadata cannot be read (${error.reason}).`);
  }
}

function parse(config: unknown, allowInsecure: boolean): ProviderConfig {
  const parsed = parseShape(config);
  requirePage(parsed.ssoUrl, allowInsecure);
  const certificates = parsed.certificates.map((pem) => certificateOf(pem)?.toString());
  if (certificates.includes(undefined))
    throw invalidProvider(
      'A certificate is not X.509 in PEM with an RSA key of at least 2048 bits or an elliptic curve.',
    );
  if (parsed.idpInitiated && parsed.idpInitiatedPage === '')
    throw invalidProvider('Logins that the provider begins need a page to lead to: --idp-initiated-page.');
  return { ...parsed, certificates: [...new Set(certificates)] };
}

function show({ certificates, ...config }: SamlConfig): Readonly<Record<string, unknown>> {
  const shown = certificates.flatMap((pem) => {
    const certificate = certificateOf(pem);
    if (certificate === undefined) return [];
    return { fingerprint256: certificate.fingerprint256, validTo: new Date(certificate.validTo).toISOString() };
  });
  return { ...config, certificates: shown };
}

/** The browser is redirected to this URL, which may be in a network that only users can reach. */
function requirePage(address: string, allowInsecure: boolean): void {
  const page = URL.canParse(address) ? new URL(address) : undefined;
  const isWeb = page?.protocol === 'https:' || (allowInsecure && page?.protocol === 'http:');
  if (page === undefined || !isWeb || page.username !== '' || page.password !== '' || page.hash !== '')
    throw invalidProvider('The address of the login must be an https URL without user name and fragment.');
}

function parseShape(config: unknown): SamlConfig {
  const parsed = samlConfigShape.safeParse(config);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const name = String(issue?.path[0]);
  if (['entityId', 'ssoUrl', 'certificates'].includes(name) && isMissing((config as ProviderConfig)[name]))
    throw invalidProvider(
      `The ${required[name]} of the provider is missing: give --metadata-url or --metadata-file, or --idp-entity-id, --sso-url and --cert-file.`,
    );
  throw invalidParam(String(issue?.path.join('.')), String(issue?.message));
}

/** Error messages for invalid metadata, by refusal reason. */
const metadataProblems: Readonly<Record<string, string>> = {
  'no response':
    'The metadata is not that of one SAML identity provider: it has no element IDPSSODescriptor, or several. Give the metadata that the provider publishes about itself, not a login page or the metadata of your application. Of several, --idp-entity-id chooses one.',
  'no such provider': 'The metadata names no identity provider with this entity id (--idp-entity-id).',
  'malformed xml':
    'The metadata is not well-formed XML, or one of its certificates is not X.509. Download it again from the provider, without opening it in an editor.',
};

/** Metadata without a certificate results in an empty list. */
function isMissing(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0);
}

const required: Readonly<Record<string, string>> = {
  entityId: 'entity id',
  ssoUrl: 'address for logins by HTTP-Redirect or HTTP-POST',
  certificates: 'signing certificate',
};

import { Failure } from '#src/contract/errors.js';
import { providerLimits, samlLimits } from '#src/contract/limits.js';
import type { Runtime } from '#src/platform/index.js';
import { lazy } from '#src/platform/lazy.js';
import { describeNetworkError } from '#src/platform/network-errors.js';
import type { ProviderConfig, ProviderKind } from '../../providers/index.js';
import { addressesOf } from './addresses.js';
import { certificateOf, configOf, configShape, type SamlConfig } from './config.js';
import { createSamlTest } from './provider-test.js';

/** Providers that speak SAML 2.0. */
export function createSamlKind(runtime: Pick<Runtime, 'egress' | 'clock' | 'config'>): ProviderKind {
  const { egress, config: settings } = runtime;
  const protocol = lazy(() => import('./protocol/index.js'));
  const test = createSamlTest(runtime, async (xml) => (await protocol.get()).readMetadata(xml));

  const fetchMetadata = async (url: string): Promise<string> => {
    egress.check(url);
    const bounds = { timeoutMs: providerLimits.timeoutMs, maxBytes: samlLimits.metadataBytes + 1 };
    try {
      const { status, body } = await egress.request({ method: 'GET', url, purpose: 'saml', ...bounds });
      if (status === 200) return body.toString('utf8');
      throw invalid(`The address of the metadata answers ${status} instead of 200.`);
    } catch (error) {
      if (error instanceof Failure) throw error;
      const message = `The metadata cannot be read: ${describeNetworkError(error)}.`;
      throw new Failure('general_unavailable', { message });
    }
  };
  const readMetadata = async (xml: string): Promise<ProviderConfig> => {
    const { readMetadata: read, SamlRefused } = await protocol.get();
    try {
      const { entityId, ssoUrl, certificates, wantsSignedRequests } = read(xml);
      return {
        entityId,
        certificates,
        ...(ssoUrl === undefined ? {} : { ssoUrl }),
        // Metadata that does not ask for it leaves what the operator has said.
        ...(wantsSignedRequests ? { signRequests: true } : {}),
      };
    } catch (error) {
      if (!(error instanceof SamlRefused)) throw error;
      throw invalid(metadataProblems[error.reason] ?? `The metadata cannot be read (${error.reason}).`);
    }
  };

  return {
    kind: 'saml',
    login: 'login.saml',
    startPath: 'account/sessions/saml',
    prepare: async ({ metadata, ...config }) => {
      if (typeof metadata === 'string') return { metadataUrl: undefined, ...(await readMetadata(metadata)), ...config };
      if (typeof config.metadataUrl !== 'string') return config;
      return { ...(await readMetadata(await fetchMetadata(config.metadataUrl))), ...config };
    },
    parse: (_, config) => {
      const parsed = parse(config);
      demandPage(parsed.ssoUrl, settings.allowInsecure);
      const certificates = parsed.certificates.map((pem) => certificateOf(pem)?.toString());
      if (certificates.includes(undefined))
        throw invalid('A certificate is not X.509 in PEM with an RSA key of at least 2048 bits or an elliptic curve.');
      if (parsed.idpInitiated && parsed.idpInitiatedPage === '')
        throw invalid('Logins that the provider begins need a page to lead to: --idp-initiated-page.');
      return { ...parsed, certificates: [...new Set(certificates)] };
    },
    demandSamePeople: (_, before, after) => {
      for (const name of ['entityId', 'uidAttribute'] as const)
        if (before[name] !== after[name])
          throw invalid(
            `The ${name === 'entityId' ? 'entity id of the provider' : 'attribute that identifies users'} cannot change, as it decides who the users are. Add another provider.`,
          );
    },
    show: (_, config) => show(configOf(config)),
    addresses: (projectId, key) => {
      const { entityId, acsUrl } = addressesOf(settings.baseUrl, projectId, key);
      return { spEntityId: entityId, acsUrl };
    },
    test,
  };
}

function show({ certificates, ...config }: SamlConfig): Readonly<Record<string, unknown>> {
  const shown = certificates.flatMap((pem) => {
    const certificate = certificateOf(pem);
    if (certificate === undefined) return [];
    return { fingerprint256: certificate.fingerprint256, validTo: new Date(certificate.validTo).toISOString() };
  });
  return { ...config, certificates: shown };
}

/** The browser is sent there; it may be in a network that only users reach. */
function demandPage(address: string, allowInsecure: boolean): void {
  const page = URL.canParse(address) ? new URL(address) : undefined;
  const isWeb = page?.protocol === 'https:' || (allowInsecure && page?.protocol === 'http:');
  if (page === undefined || !isWeb || page.username !== '' || page.password !== '' || page.hash !== '')
    throw invalid('The address of the login must be an https URL without user name and fragment.');
}

function parse(config: unknown): SamlConfig {
  const parsed = configShape.safeParse(config);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const name = String(issue?.path[0]);
  if (['entityId', 'ssoUrl', 'certificates'].includes(name) && isMissing((config as ProviderConfig)[name]))
    throw invalid(
      `The ${required[name]} of the provider is missing: give --metadata-url or --metadata-file, or --idp-entity-id, --sso-url and --cert-file.`,
    );
  throw invalid(`Invalid \`${issue?.path.join('.')}\` param: ${issue?.message}`);
}

/** What is wrong with metadata, by the reasons of what reads it. */
const metadataProblems: Readonly<Record<string, string>> = {
  'no response':
    'The metadata is not that of one SAML identity provider: it has no element IDPSSODescriptor, or several.',
  'malformed xml': 'The metadata is not well-formed XML, or one of its certificates is not X.509.',
};

/** Metadata without a certificate gives an empty list. */
function isMissing(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0);
}

const required: Readonly<Record<string, string>> = {
  entityId: 'entity id',
  ssoUrl: 'address for logins by HTTP-Redirect',
  certificates: 'signing certificate',
};

function invalid(message: string): Failure {
  return new Failure('general_argument_invalid', { message });
}

import { providerLimits, samlLimits } from '#src/contract/limits.js';
import { isOnLocalhost } from '#src/platform/config/localhost.js';
import type { Runtime } from '#src/platform/index.js';
import { createProbe, distinct, type Probe, type Provider, type ProviderFinding } from '../../providers/index.js';
import { certificateOf, type SamlConfig, samlConfigOf } from './config.js';
import type { IdentityProviderMetadata } from './protocol/index.js';

const { timeoutMs } = providerLimits;
const dayMs = 86_400_000;
/** Certificates are reported this number of days before they expire. */
const noticeDays = 30;

interface Deps {
  readonly probe: Probe;
  readonly readMetadata: (xml: string, entityId: string) => Promise<IdentityProviderMetadata>;
}

/** Tests a provider: its metadata, certificates, login page and clock. */
export function createSamlTest(
  runtime: Pick<Runtime, 'egress' | 'clock' | 'config'>,
  readMetadata: Deps['readMetadata'],
) {
  const { clock, config: settings } = runtime;
  const deps: Deps = { probe: createProbe(runtime), readMetadata };
  return async (provider: Provider): Promise<readonly ProviderFinding[]> => {
    const config = samlConfigOf(provider.config);
    const called = await Promise.all([testMetadata(deps, provider, config), testLogin(deps, config)]);
    const findings = [
      ...testBaseUrl(settings),
      ...certificateFindings(provider, config, clock.now()),
      ...called.flat(),
    ];
    return distinct(findings);
  };
}

async function testMetadata(deps: Deps, provider: Provider, config: SamlConfig): Promise<ProviderFinding[]> {
  const { metadataUrl: url } = config;
  if (url === undefined) return [];
  const bounds = { timeoutMs, maxBytes: samlLimits.metadataBytes + 1 };
  const { answer, findings } = await deps.probe('The metadata', url, bounds);
  if (answer === undefined) return [...findings];
  const said = await deps.readMetadata(answer.body.toString('utf8'), config.entityId).catch(() => undefined);
  if (answer.status === 200 && said !== undefined) return [...findings, ...differences(provider, config, said)];
  const unreadable: ProviderFinding = {
    code: 'metadata_invalid',
    level: 'error',
    message: `The address of the metadata ${url} answers ${answer.status}, and not with the metadata of one SAML identity provider.`,
    fix: `find the address of the metadata at the provider: ${command(provider, '--metadata-url URL')}`,
  };
  return [...findings, unreadable];
}

/** Findings for a provider whose metadata has changed since it was added. */
function differences(provider: Provider, config: SamlConfig, said: IdentityProviderMetadata): ProviderFinding[] {
  const findings: ProviderFinding[] = [];
  const reload = command(provider, `--metadata-url ${config.metadataUrl}`);
  const isStored = (pem: string) => config.certificates.includes(pem);
  if (said.entityId !== config.entityId)
    findings.push({
      code: 'entity_id_differs',
      level: 'error',
      message: `The metadata is of ${said.entityId.slice(0, 200)}, and the provider was added as ${config.entityId}.`,
      fix: 'find the address of the metadata of the provider, or add it as another one: svc provider add saml --help',
    });
  if (said.ssoUrl !== undefined && said.ssoUrl !== config.ssoUrl)
    findings.push({
      code: 'login_page_differs',
      level: 'warning',
      message: `The metadata names another login page: ${said.ssoUrl.slice(0, 200)}.`,
      fix: reload,
    });
  if (said.wantsSignedRequests && !config.signRequests)
    findings.push({
      code: 'requests_unsigned',
      level: 'error',
      message: 'The provider takes signed requests only, and those of the service are not signed.',
      fix: command(provider, '--sign-requests on'),
    });
  if (!said.certificates.every(isStored)) {
    const isReplaced = !said.certificates.some(isStored);
    findings.push({
      code: isReplaced ? 'certificates_replaced' : 'certificate_added',
      level: isReplaced ? 'error' : 'warning',
      message: isReplaced
        ? 'The provider signs by other keys than those that are stored: all its logins are refused.'
        : 'The provider has another signing certificate, to which it may change.',
      fix: reload,
    });
  }
  return findings;
}

async function testLogin({ probe }: Deps, { ssoUrl }: SamlConfig): Promise<ProviderFinding[]> {
  const { answer, findings } = await probe('The login page', ssoUrl, { timeoutMs, maxBytes: 16_384 });
  // It may be in a network that only users can reach.
  const softened = findings.map((one): ProviderFinding => {
    const fix = `if the browsers of users reach it, nothing is wrong; else ${one.fix}`;
    return one.code === 'clock_differs' ? one : { ...one, level: 'warning', fix };
  });
  if (answer === undefined || answer.status < 500) return softened;
  // Some providers respond like this to a call without a login request.
  const mayWork = answer.status === 500;
  const failing: ProviderFinding = {
    code: 'login_page_fails',
    level: mayWork ? 'warning' : 'error',
    message: `The login page ${ssoUrl} answers ${answer.status}${mayWork ? ' to a call without a login request' : ''}.`,
    fix: mayWork
      ? 'log in once: if that works, nothing is wrong; else the log of the provider has the reason'
      : 'look at the status page or the log of the provider',
  };
  return [...softened, failing];
}

function testBaseUrl({ baseUrl }: Runtime['config']): ProviderFinding[] {
  if (new URL(baseUrl).protocol === 'https:' || isOnLocalhost(baseUrl)) return [];
  const message =
    'SVC_BASE_URL is not https: browsers do not bring back the cookie of a login from the site of the provider.';
  const fix = 'serve the API over https and set SVC_BASE_URL to that address';
  return [{ code: 'base_url_insecure', level: 'error', message, fix }];
}

/** Keys are pinned, so logins continue after a certificate expires; but the provider usually replaces the key then. */
function certificateFindings(
  provider: Provider,
  { certificates, metadataUrl }: SamlConfig,
  nowMs: number,
): ProviderFinding[] {
  const ends = certificates.map((pem) => Date.parse(certificateOf(pem)?.validTo ?? ''));
  const isCovered = ends.some((end) => end > nowMs + noticeDays * dayMs);
  const fix = command(provider, metadataUrl === undefined ? '--cert-file FILE' : `--metadata-url ${metadataUrl}`);
  return ends.flatMap((end): ProviderFinding[] => {
    const day = new Date(end).toISOString().slice(0, 10);
    if (end <= nowMs) {
      const level = ends.some((other) => other > nowMs) ? 'warning' : 'error';
      return [{ code: 'certificate_expired', level, message: `A signing certificate has expired on ${day}.`, fix }];
    }
    if (end > nowMs + noticeDays * dayMs || isCovered) return [];
    const message = `The signing certificate expires on ${day}: the provider will sign by another key.`;
    return [{ code: 'certificate_expires', level: 'warning', message, fix }];
  });
}

function command({ key, projectId }: Provider, flags: string): string {
  return `svc provider update ${key} --project ${projectId} ${flags}`;
}

import { absentParam, invalidParam } from '#src/contract/errors.js';
import type { Runtime } from '#src/platform/index.js';
import { invalidProvider, type ProviderConfig, type ProviderKind } from '../../providers/index.js';
import { callbackUrl } from './client/callback.js';
import { createOAuth2Test } from './provider-test.js';
import { type OAuth2Config, oauth2ConfigOf, oauth2ConfigShape } from './providers/config.js';
import { type BuiltIn, builtIns, isPrivateKey } from './providers/index.js';

/** Members that only some built-in providers accept; each defines their meaning. */
const options = ['issuer', 'tenant', 'teamId', 'keyId'] as const;

/** Members that name the claims to read, for OpenID Connect providers only. */
const claimNames = ['emailClaim', 'emailVerifiedClaim', 'nameClaim'] as const;

/** Kinds of OAuth2 providers: the built-in ones, and any with an OpenID Connect discovery document. */
export function createOAuth2Kinds(runtime: Pick<Runtime, 'egress' | 'clock' | 'config'>): readonly ProviderKind[] {
  const { egress, config: settings } = runtime;
  const common = {
    login: 'login.oauth2',
    startPath: 'account/sessions/oauth2',
    show: (config: ProviderConfig) => {
      const { clientSecret, ...shown } = oauth2ConfigOf(config);
      return { ...shown, hasSecret: clientSecret !== '' };
    },
    addresses: (projectId: string, key: string) => ({ callbackUrl: callbackUrl(settings.baseUrl, projectId, key) }),
    test: createOAuth2Test(runtime),
  } as const;
  const requireIssuer = (issuer: string): void => {
    egress.check(issuer);
    if (new URL(issuer).search !== '') throw invalidProvider('The issuer must be a URL without a query.');
  };
  return [
    {
      kind: 'oauth2',
      ...common,
      keys: new Set(Object.keys(builtIns)),
      parse: (key, config) => {
        const parsed = parse(config);
        const row = builtIns[key];
        if (row === undefined) throw invalidProvider(`There is no built-in provider ${key}.`);
        requireOptions(key, row, parsed);
        const claim = claimNames.find((name) => parsed[name] !== undefined);
        if (claim !== undefined) throw invalidProvider(`${key} takes no ${claim}: its claims are known.`);
        if (parsed.issuer !== undefined) requireIssuer(parsed.issuer);
        return parsed;
      },
      identifiedBy: { issuer: 'issuer', tenant: 'tenant', teamId: 'teamId' },
    },
    {
      kind: 'oidc',
      ...common,
      parse: (_, config) => {
        const parsed = parse(config);
        if (parsed.issuer === undefined) throw absentParam('issuer', 'it says which OpenID Connect provider is meant.');
        const foreign = options.find((name) => name !== 'issuer' && parsed[name] !== undefined);
        if (foreign !== undefined) throw invalidProvider(`An OpenID Connect provider takes no ${foreign}.`);
        requireIssuer(parsed.issuer);
        return parsed;
      },
      identifiedBy: { issuer: 'issuer' },
    },
  ];
}

function requireOptions(key: string, { takes = [], needs = [], secret }: BuiltIn, config: OAuth2Config): void {
  for (const name of options) {
    if (config[name] !== undefined && !takes.includes(name) && !needs.includes(name))
      throw invalidProvider(`${key} takes no ${name}.`);
    if (config[name] === undefined && needs.includes(name)) throw absentParam(name, `${key} needs it.`);
  }
  if (config.clientSecret === '') throw absentParam('clientSecret', `${key} gives one to each application.`);
  if (secret === 'private key' && !isPrivateKey(config.clientSecret))
    throw invalidProvider(`The secret of ${key} is a private key on the curve P-256, as PEM.`);
}

function parse(config: unknown): OAuth2Config {
  const parsed = oauth2ConfigShape.safeParse(config);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw invalidParam(String(issue?.path.join('.')), String(issue?.message));
}

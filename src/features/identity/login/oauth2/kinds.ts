import { Failure } from '#src/contract/errors.js';
import type { Runtime } from '#src/platform/index.js';
import type { ProviderConfig, ProviderKind } from '../../providers/index.js';
import { callbackUrl } from './callback.js';
import { configOf, configShape, type OAuth2Config } from './config.js';
import { createOAuth2Test } from './provider-test.js';
import { type BuiltIn, builtIns, isPrivateKey } from './providers/index.js';

/** Members that some built-in providers take; what they mean is up to those. */
const options = ['issuer', 'tenant', 'teamId', 'keyId'] as const;

/** The kinds of providers that speak OAuth2: those that are built in, and any that has an OpenID Connect discovery document. */
export function createOAuth2Kinds(runtime: Pick<Runtime, 'egress' | 'clock' | 'config'>): readonly ProviderKind[] {
  const { egress, config: settings } = runtime;
  const addresses = (projectId: string, key: string) => ({
    callbackUrl: callbackUrl(settings.baseUrl, projectId, key),
  });
  const test = createOAuth2Test(runtime);
  const demandIssuer = (issuer: string): void => {
    egress.check(issuer);
    if (new URL(issuer).search !== '') throw invalid('The issuer must be a URL without a query.');
  };
  const show = ({ clientSecret, ...config }: OAuth2Config) => ({ ...config, hasSecret: clientSecret !== '' });
  const demandSame = (before: ProviderConfig, after: ProviderConfig, names: readonly string[]): void => {
    for (const name of names)
      if (before[name] !== after[name])
        throw invalid(`The ${name} cannot change, as it decides who the users are. Add another provider.`);
  };
  const logins = { login: 'login.oauth2', startPath: 'account/sessions/oauth2' } as const;
  return [
    {
      kind: 'oauth2',
      ...logins,
      keys: new Set(Object.keys(builtIns)),
      parse: (key, config) => {
        const parsed = parse(config);
        const row = builtIns[key];
        if (row === undefined) throw invalid(`There is no built-in provider ${key}.`);
        demandOptions(key, row, parsed);
        if (parsed.issuer !== undefined) demandIssuer(parsed.issuer);
        return parsed;
      },
      demandSamePeople: (_, before, after) => demandSame(before, after, ['issuer', 'tenant', 'teamId']),
      show: (_, config) => show(configOf(config)),
      addresses,
      test,
    },
    {
      kind: 'oidc',
      ...logins,
      parse: (_, config) => {
        const parsed = parse(config);
        if (parsed.issuer === undefined)
          throw invalid('Param "issuer" is not optional: it says which OpenID Connect provider is meant.');
        const foreign = options.find((name) => name !== 'issuer' && parsed[name] !== undefined);
        if (foreign !== undefined) throw invalid(`An OpenID Connect provider takes no ${foreign}.`);
        demandIssuer(parsed.issuer);
        return parsed;
      },
      demandSamePeople: (_, before, after) => demandSame(before, after, ['issuer']),
      show: (_, config) => show(configOf(config)),
      addresses,
      test,
    },
  ];
}

function demandOptions(key: string, { takes = [], needs = [], secret }: BuiltIn, config: OAuth2Config): void {
  for (const name of options) {
    if (config[name] !== undefined && !takes.includes(name) && !needs.includes(name))
      throw invalid(`${key} takes no ${name}.`);
    if (config[name] === undefined && needs.includes(name))
      throw invalid(`Param "${name}" is not optional: ${key} needs it.`);
  }
  if (config.clientSecret === '')
    throw invalid(`Param "clientSecret" is not optional: ${key} gives one to each application.`);
  if (secret === 'private key' && !isPrivateKey(config.clientSecret))
    throw invalid(`The secret of ${key} is a private key on the curve P-256, as PEM.`);
}

function parse(config: unknown): OAuth2Config {
  const parsed = configShape.safeParse(config);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw invalid(`Invalid \`${issue?.path.join('.')}\` param: ${issue?.message}`);
}

function invalid(message: string): Failure {
  return new Failure('general_argument_invalid', { message });
}

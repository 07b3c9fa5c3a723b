// The layer rules. Layers, lowest first: contract, platform, features, graphql, http, appliance, cli. Imports point downward only.
// test/contract/layers.test.ts plants a violation of each rule and expects the rule to find it.

/** Matches files of the packages and of their type declarations in any node_modules. */
const packages = (...names) => `node_modules/(@types/)?(${names.join('|')})/`;

const rule = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

module.exports = {
  forbidden: [
    rule('no-circular', 'Files in an import cycle have no layer.', {}, { circular: true }),
    rule('nothing-unresolved', 'An unresolved import cannot be checked.', {}, { couldNotResolve: true }),

    rule(
      'contract-imports-nothing',
      'The contract is data and needs no code of the service.',
      { path: '^src/contract/' },
      { path: '^src/(?!contract/)' },
    ),
    rule(
      'contract-imports-only-zod',
      'Clients could import the contract; it needs only schemas.',
      { path: '^src/contract/' },
      { path: 'node_modules/', pathNot: packages('zod') },
    ),
    rule(
      'platform-imports-no-features',
      'The platform could serve another product.',
      { path: '^src/platform/' },
      { path: '^src/(?!contract/|platform/)' },
    ),
    rule(
      'features-import-no-transport',
      'A feature does not depend on the protocol of a request.',
      { path: '^src/features/' },
      { path: '^src/(graphql|http|cli|client)/|^src/appliance' },
    ),
    rule(
      'areas-import-by-index',
      'The index.ts of an area exports all that other areas use.',
      { path: '^src/features/([^/]+)/' },
      { path: '^src/features/[^/]+/.+/', pathNot: '^src/features/$1/' },
    ),
    rule(
      'installation-imports-no-area',
      'Projects, limits, mail and jobs do not depend on users, events and documents.',
      { path: '^src/features/installation/' },
      { path: '^src/features/(events|identity|data)/' },
    ),
    rule(
      'events-import-no-identity',
      'Events are names and payloads; they do not depend on users and documents.',
      { path: '^src/features/events/' },
      { path: '^src/features/(identity|data)/' },
    ),
    rule(
      'identity-and-data-are-separate',
      'Documents only use the roles of callers.',
      { path: '^src/features/(identity|data)/' },
      { path: '^src/features/(identity|data)/', pathNot: '^src/features/$1/' },
    ),
    rule(
      'features-import-by-index',
      "A feature's service and store are private.",
      { path: '^src/features/([^/]+)/([^/]+)/' },
      { path: '^src/features/[^/]+/[^/]+/', pathNot: ['^src/features/$1/$2/', '/(index|api)[.]ts$'] },
    ),
    rule(
      'login-methods-are-separate',
      'Each login method can be removed without changes to the others.',
      { path: '^src/features/identity/login/([^/]+)/' },
      { path: '^src/features/identity/login/[^/]+/', pathNot: '^src/features/identity/login/($1|method)/' },
    ),
    rule(
      'transport-imports-by-index',
      'Higher layers import features by their index.ts.',
      { path: '^src/(http|graphql|cli)/|^src/appliance' },
      { path: '^src/features/', pathNot: '/index[.]ts$' },
    ),
    rule(
      'http-imports-no-cli',
      'The wiring and the commands are above the transport.',
      { path: '^src/(http|graphql)/' },
      { path: '^src/(cli/|appliance)' },
    ),

    rule(
      'koa-only-in-http',
      'This includes its types.',
      { pathNot: '^src/http/' },
      { path: packages('koa', '@koa', 'koa__router') },
    ),
    rule(
      'ws-only-in-http',
      'Features use connections, not sockets.',
      { pathNot: '^src/http/' },
      { path: packages('ws', '@types/ws') },
    ),
    rule(
      'knex-only-in-db',
      'Its types may be used elsewhere.',
      { path: '^src/', pathNot: '^src/platform/db/' },
      { path: packages('knex'), dependencyTypesNot: ['type-only'] },
    ),
    rule(
      'commander-only-in-cli',
      'Arguments and prompts belong to the command line.',
      { pathNot: '^src/cli/' },
      { path: packages('commander', 'inquirer', '@inquirer') },
    ),
    rule(
      'graphql-only-in-graphql',
      'GraphQL is confined to one folder.',
      { pathNot: '^src/graphql/' },
      { path: packages('graphql', 'graphql-helix') },
    ),
    rule(
      'machines-only-in-platform',
      'Features ask the platform for time, hashes, the network and the database.',
      { pathNot: '^src/platform/' },
      { path: packages('undici', 'prom-client', 'scrypt-kdf', '@node-rs/argon2', 'bcryptjs', 'sqlite3', 'pg') },
    ),
    rule(
      'otp-only-in-factors',
      'Other features ask it to verify codes.',
      { pathNot: '^src/features/identity/factors/' },
      { path: packages('otplib', '@otplib') },
    ),
    rule(
      'webauthn-only-in-passkeys',
      'Authenticator responses are verified in one folder.',
      { pathNot: '^src/features/identity/passkeys/' },
      { path: packages('@simplewebauthn') },
    ),
    rule(
      'cron-only-in-scheduler',
      'It only schedules; features declare jobs.',
      { pathNot: '^src/platform/jobs/scheduler[.]ts$' },
      { path: packages('node-cron') },
    ),
    rule(
      'bowser-only-in-activity',
      'User agents are parsed in one folder.',
      { pathNot: '^src/features/events/activity/' },
      { path: packages('bowser') },
    ),
    rule(
      'jose-only-in-jwt',
      'Signing and verifying go through the platform, which fixes the algorithms and headers once.',
      { pathNot: '^src/platform/crypto/jwt[.]ts$' },
      { path: packages('jose') },
    ),
    rule(
      'openid-only-in-oauth2',
      'Identity providers are called from one folder, which returns the verified user.',
      { pathNot: '^src/features/identity/login/oauth2/client/' },
      { path: packages('openid-client', 'oauth4webapi') },
    ),
    rule(
      'saml-only-in-protocol',
      'XML and its signatures are confined to one folder, which returns the verified assertion.',
      { pathNot: '^src/features/identity/login/saml/protocol/' },
      { path: packages('samlify', 'xml-crypto', '@xmldom', 'xpath', '@peculiar/x509') },
    ),
    rule(
      'mail-only-in-mailer',
      'Features send messages through the courier.',
      { pathNot: '^src/platform/outbound/mailer[.]ts$' },
      { path: packages('nodemailer') },
    ),
    rule(
      's3-only-in-file-store',
      'Features read and write objects.',
      { pathNot: '^src/platform/file-store/s3[.]ts$' },
      { path: packages('@aws-sdk', '@smithy') },
    ),
    rule(
      'opentelemetry-only-in-tracing',
      'Other code gets its traced services from the runtime.',
      { pathNot: '^src/platform/tracing/' },
      { path: packages('@opentelemetry') },
    ),
    rule(
      'sharp-only-in-images',
      'One file chooses the decoders for untrusted bytes.',
      { pathNot: '^src/platform/images/pipeline[.]ts$' },
      { path: packages('sharp') },
    ),
    rule(
      'facts-only-in-assets',
      'Flags, codes and names of countries are for applications; the service itself needs none.',
      { pathNot: '^src/features/assets/' },
      { path: packages('country-flag-icons', 'countries-list', 'cldr-core') },
    ),
    rule(
      'qr-only-in-qr-code',
      'One file encodes QR codes, for pictures and for pages.',
      { pathNot: '^src/platform/images/qr-code[.]ts$' },
      { path: packages('qr') },
    ),
    rule(
      'busboy-only-in-upload',
      'One file parses forms with files; features get the bytes.',
      { pathNot: '^src/http/upload[.]ts$' },
      { path: packages('@fastify/busboy') },
    ),
    rule(
      'file-type-only-in-media-type',
      'Media types are detected in one place.',
      { pathNot: '^src/platform/file-store/media-type[.]ts$' },
      { path: packages('file-type') },
    ),
    rule(
      'loaded-when-needed',
      'Most starts do not need them. Loaded by import(), or by require() within a unit of work, they cost time and memory only when used.',
      { path: '^src/' },
      {
        path: `${packages('inquirer', '@node-rs/argon2', 'bcryptjs', '@zxcvbn-ts', 'bowser', 'jose', 'nodemailer', 'openid-client', 'otplib', '@simplewebauthn', 'sharp', '@fastify/busboy', 'file-type')}|^src/platform/crypto/foreign-hashes/verify|^src/graphql/engine|^src/features/assets/(locale/service|avatars/drawings/flag)|^src/platform/outbound/egress-client|^src/platform/file-store/s3|^src/platform/tracing/sdk|^src/platform/images/(pipeline|qr-code)|^src/features/identity/login/saml/protocol/index|^src/platform/db/(sqlite|postgres)[.]`,
        dynamic: false,
        // `require` is for code first needed inside a unit of work, which cannot wait for an import.
        dependencyTypesNot: ['type-only', 'type-import', 'require'],
      },
    ),
  ],
  options: {
    // Distinguishes type-only imports from those at run time.
    tsPreCompilationDeps: 'specify',
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'types', 'default'],
      extensions: ['.ts', '.d.ts', '.js', '.json'],
    },
  },
};

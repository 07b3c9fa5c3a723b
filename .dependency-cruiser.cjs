// Who may import whom. The floors, lowest first: contract, platform, features, graphql, http, appliance, cli; arrows point downward only.
// test/contract/layers.test.ts plants a violation of each rule and sees it found.

/** Matches files of the packages, and of their type declarations, wherever node_modules stands. */
const packages = (...names) => `node_modules/(@types/)?(${names.join('|')})/`;

const rule = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

module.exports = {
  forbidden: [
    rule('no-circular', 'A circle has no floor to stand on.', {}, { circular: true }),
    rule('nothing-unresolved', 'What cannot be resolved cannot be judged.', {}, { couldNotResolve: true }),

    rule(
      'contract-is-the-ground',
      'Words and promises need no machine.',
      { path: '^src/contract/' },
      { path: '^src/(?!contract/)' },
    ),
    rule(
      'contract-takes-zod-only',
      'A client could quote the contract; it needs schemas and nothing else.',
      { path: '^src/contract/' },
      { path: 'node_modules/', pathNot: packages('zod') },
    ),
    rule(
      'platform-knows-no-business',
      'The machines would serve another product as well.',
      { path: '^src/platform/' },
      { path: '^src/(?!contract/|platform/)' },
    ),
    rule(
      'features-know-no-transport',
      'A feature does not know how it was asked.',
      { path: '^src/features/' },
      { path: '^src/(graphql|http|cli|client)/|^src/appliance' },
    ),
    rule(
      'wings-meet-at-their-index',
      'What a wing offers the others stands in its index.ts.',
      { path: '^src/features/([^/]+)/' },
      { path: '^src/features/[^/]+/.+/', pathNot: '^src/features/$1/' },
    ),
    rule(
      'installation-is-the-lowest-wing',
      'Projects, limits, mail and jobs know nothing of users, events and documents.',
      { path: '^src/features/installation/' },
      { path: '^src/features/(events|identity|data)/' },
    ),
    rule(
      'events-below-identity',
      'What has happened is told by names and payloads; the wing of events knows no user and no document.',
      { path: '^src/features/events/' },
      { path: '^src/features/(identity|data)/' },
    ),
    rule(
      'identity-and-data-do-not-meet',
      'Documents know callers by their roles only.',
      { path: '^src/features/(identity|data)/' },
      { path: '^src/features/(identity|data)/', pathNot: '^src/features/$1/' },
    ),
    rule(
      'features-meet-at-the-door',
      "Another feature's service and store are its own affair.",
      { path: '^src/features/([^/]+)/([^/]+)/' },
      { path: '^src/features/[^/]+/[^/]+/', pathNot: ['^src/features/$1/$2/', '/(index|api)[.]ts$'] },
    ),
    rule(
      'login-methods-do-not-meet',
      'Each way in can be removed without the others noticing.',
      { path: '^src/features/identity/login/([^/]+)/' },
      { path: '^src/features/identity/login/[^/]+/', pathNot: '^src/features/identity/login/$1/' },
    ),
    rule(
      'transport-uses-doors',
      'What stands above the features enters by their index.ts.',
      { path: '^src/(http|graphql|cli)/|^src/appliance' },
      { path: '^src/features/', pathNot: '/index[.]ts$' },
    ),
    rule(
      'http-does-not-know-cli',
      'The wiring and the commands stand above the transport.',
      { path: '^src/(http|graphql)/' },
      { path: '^src/(cli/|appliance)' },
    ),

    rule(
      'koa-only-in-http',
      'Not even its types.',
      { pathNot: '^src/http/' },
      { path: packages('koa', '@koa', 'koa__router') },
    ),
    rule(
      'ws-only-in-http',
      'Features know connections, not sockets.',
      { pathNot: '^src/http/' },
      { path: packages('ws', '@types/ws') },
    ),
    rule(
      'knex-only-in-db',
      'Its types may be named above.',
      { path: '^src/', pathNot: '^src/platform/db/' },
      { path: packages('knex'), dependencyTypesNot: ['type-only'] },
    ),
    rule(
      'commander-only-in-cli',
      'Words and questions belong to the operator.',
      { pathNot: '^src/cli/' },
      { path: packages('commander', 'inquirer', '@inquirer') },
    ),
    rule(
      'graphql-only-in-graphql',
      'One folder knows the language.',
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
      'Everybody else asks for a proof.',
      { pathNot: '^src/features/identity/factors/' },
      { path: packages('otplib', '@otplib') },
    ),
    rule(
      'webauthn-only-in-passkeys',
      'One folder knows what authenticators sign.',
      { pathNot: '^src/features/identity/passkeys/' },
      { path: packages('@simplewebauthn') },
    ),
    rule(
      'cron-only-in-scheduler',
      'It ticks and decides nothing; everybody else declares a job.',
      { pathNot: '^src/platform/scheduler[.]ts$' },
      { path: packages('node-cron') },
    ),
    rule(
      'bowser-only-in-activity',
      'One folder knows what browsers call themselves.',
      { pathNot: '^src/features/events/activity/' },
      { path: packages('bowser') },
    ),
    rule(
      'jose-only-in-jwt',
      'Whoever signs or verifies asks the platform; which algorithms and headers count is decided once.',
      { pathNot: '^src/platform/jwt[.]ts$' },
      { path: packages('jose') },
    ),
    rule(
      'openid-only-in-oauth2',
      'One folder speaks with identity providers; everybody else is told whose login it is.',
      { pathNot: '^src/features/identity/login/oauth2/client/' },
      { path: packages('openid-client', 'oauth4webapi') },
    ),
    rule(
      'saml-only-in-protocol',
      'One folder knows XML and its signatures; everybody else is told what was verified.',
      { pathNot: '^src/features/identity/login/saml/protocol/' },
      { path: packages('samlify', 'xml-crypto', '@xmldom', 'xpath', '@peculiar/x509') },
    ),
    rule(
      'mail-only-in-mailer',
      'Everybody else leaves a message with the courier.',
      { pathNot: '^src/platform/mailer[.]ts$' },
      { path: packages('nodemailer') },
    ),
    rule(
      's3-only-in-file-store',
      'Everybody else reads and writes objects.',
      { pathNot: '^src/platform/file-store/s3[.]ts$' },
      { path: packages('@aws-sdk', '@smithy') },
    ),
    rule(
      'sharp-only-in-images',
      'One file decides which decoders see bytes of callers.',
      { pathNot: '^src/platform/images/pipeline[.]ts$' },
      { path: packages('sharp') },
    ),
    rule(
      'busboy-only-in-upload',
      'One file reads forms with files; features are given the bytes.',
      { pathNot: '^src/http/upload[.]ts$' },
      { path: packages('@fastify/busboy') },
    ),
    rule(
      'file-type-only-in-media-type',
      'What bytes are is decided once.',
      { pathNot: '^src/platform/media-type[.]ts$' },
      { path: packages('file-type') },
    ),
    rule(
      'loaded-when-needed',
      'Most starts can do without them; by import(), or by require() within a unit of work, they cost time and memory only where they are used.',
      { path: '^src/' },
      {
        path: `${packages('inquirer', '@node-rs/argon2', 'bcryptjs', '@zxcvbn-ts', 'bowser', 'jose', 'nodemailer', 'openid-client', 'otplib', '@simplewebauthn', 'sharp', '@fastify/busboy', 'file-type')}|^src/platform/foreign-hashes/verify|^src/graphql/engine|^src/platform/egress-client|^src/platform/file-store/s3|^src/platform/images/pipeline|^src/features/identity/login/saml/protocol/index|^src/platform/db/(sqlite|postgres)[.]`,
        dynamic: false,
        // `require` is for what is first needed inside a unit of work, where nothing can be waited for.
        dependencyTypesNot: ['type-only', 'type-import', 'require'],
      },
    ),
  ],
  options: {
    // Type-only imports are seen and told apart from those that remain at run time.
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

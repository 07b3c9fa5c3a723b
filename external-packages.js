/**
 * Packages that are not bundled into dist/: native ones, and what src loads itself by import() and is CommonJS, as its named exports would
 * be gone.
 */
export const externalPackages = [
  'sqlite3',
  'sharp',
  '@node-rs/argon2',
  '@zxcvbn-ts/language-common',
  'nodemailer',
  'bowser',
];

/** Packages that these name for their own installation only; nothing loads them afterwards. */
export const installationPackages = ['node-addon-api', 'node-gyp', 'prebuild-install', 'tar'];

/** A bundle beside the others, where their require('knex') looks first: its 150 files take three times as long to load one by one. */
export const knexBundle = {
  entryPoints: ['knex'],
  bundle: true,
  format: 'cjs',
  platform: 'node',
  target: 'node20.19',
  // Drivers, of which it is given none: it only compiles.
  external: [
    ...['sqlite3', 'better-sqlite3', 'pg', 'pg-native', 'pg-query-stream', 'mysql', 'mysql2', 'mariadb', 'mssql'],
    ...['oracledb', 'tedious'],
  ],
};

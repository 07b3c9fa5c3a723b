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

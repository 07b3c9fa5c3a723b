// Hashes that other implementations made, each with its password and where it comes from.

/** A hash of another product. */
export interface Vector {
  readonly name: string;
  /** The last part of the route. */
  readonly route: string;
  readonly password: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Words of the users service for it. */
  readonly algorithm: string;
}

const vector = (name: string, route: string, password: string, hash: string, more: Vector['body'] = {}): Vector => ({
  ...{ name, route, password, algorithm: route },
  body: { password: hash, ...more },
});

/** Made by hashlib of Python 3 (OpenSSL) from this password in UTF-8. */
const hashed = 'Sammelpass-Wörter 7';
const digests: [version: string, hex: string][] = [
  ['sha1', 'd63ab9ecc0a7c374a90a122de5c8c012ddc8e8b5'],
  ['sha224', 'c566211aa47b999e8b402d2cfb02941576111738a662fed07b7feea0'],
  ['sha256', '8c0901888e22015263d02fe470e79d64e6792be0c1093e639f4c7e9ddfb25407'],
  ['sha384', 'c8029214ba7ae6cd589ecd9a5c5d0660c92b6e17b3596c055e804580a89f999809a87e60a569954e5d3e431d14adb32a'],
  ['sha512/224', '2499481563d8eaa74c3bffcc05e822713c95c7207a9ad6c705bb28ef'],
  ['sha512/256', 'd9c2653d2a39f2f244f41b2dff65a0e77d60dcb9f2434e4747c22c409dec0623'],
  [
    'sha512',
    'f6c81c5a1d63521a11e20843d83ec549b0b2c4a220e4e1b8e67452860c63cda73d5b9d18ac0500aefe8cc39798858b330300c4f1b7e50115fdfb8c81341fb074',
  ],
  ['sha3-224', '7e3956e4e5820aefe584c90e381285c2f693f2f99c4931a69763c309'],
  ['sha3-256', '1e8e562794aedcf8eb072c3aa557b768554ddc6c7962d7adab01630d8391aae3'],
  ['sha3-384', '9de5d766191f44a8d842a863f74efd9c59ee26dec60f699be7df2f5e3cea4c7795ad466e791ab666ba981408d0ab29cb'],
  [
    'sha3-512',
    'b02fe6c6f846606e43882e1f7ba3be47fc74103eaa8404dea62b0d34bd2e9dc1ad3c0f354f8d13f0c096832903e2325bbdf12a79a2b56d78ac46b296bdbff443',
  ],
];

/** Every format that is taken in. */
export const vectors: readonly Vector[] = [
  // The test vectors of crypt_blowfish.
  vector('bcrypt $2a$', 'bcrypt', 'U*U', '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'),
  // Made by crypt() of the C library; the same hash under the name that PHP gives it.
  vector('bcrypt $2b$', 'bcrypt', hashed, '$2b$06$abcdefghijklmnopqrstuuQWwSHPBVgYIPSHDYjADB6E06PzFapl6'),
  vector('bcrypt $2y$', 'bcrypt', hashed, '$2y$06$abcdefghijklmnopqrstuuQWwSHPBVgYIPSHDYjADB6E06PzFapl6'),
  // The tests of the reference implementation of Argon2.
  vector(
    'argon2id',
    'argon2',
    'password',
    '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
  ),
  vector(
    'argon2i',
    'argon2',
    'password',
    '$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA',
  ),
  // RFC 7914, section 12.
  vector(
    'scrypt',
    'scrypt',
    'pleaseletmein',
    '7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887',
    {
      ...{ passwordSalt: 'SodiumChloride', passwordCpu: 16_384, passwordMemory: 8 },
      ...{ passwordParallel: 1, passwordLength: 64 },
    },
  ),
  vector(
    'scrypt with other parameters',
    'scrypt',
    hashed,
    '348a5bd86e38a271d6a757ab518d714abdac6b89a980eac0d0c7e20d40642ed5c2bde429edfaf180d0373e45e9e2c71a',
    {
      ...{ passwordSalt: 'some salt', passwordCpu: 8192, passwordMemory: 4 },
      ...{ passwordParallel: 2, passwordLength: 48 },
    },
  ),
  // The example of firebase/scrypt.
  vector(
    'Firebase',
    'scrypt-modified',
    'user1password',
    'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==',
    {
      ...{ passwordSalt: '42xEC+ixf3L2lw==', passwordSaltSeparator: 'Bw==' },
      passwordSignerKey: 'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==',
    },
  ),
  // The test of phpass itself.
  vector('phpass', 'phpass', 'test12345', '$P$9IQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0'),
  vector(
    'phpass that fell back to bcrypt',
    'phpass',
    'U*U',
    '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW',
  ),
  // RFC 1321, and in capitals.
  vector('MD5', 'md5', 'message digest', 'f96b697d7cb7938d525a2f31aaf161d0'),
  vector('MD5 in capitals', 'md5', 'message digest', 'F96B697D7CB7938D525A2F31AAF161D0'),
  ...digests.map(([version, hex]) => vector(version, 'sha', hashed, hex, { passwordVersion: version })),
  vector('SHA without a version', 'sha', hashed, digests[2]?.[1] ?? ''),
];

/** Browser names by code (`Browser` in the SDKs). */
export const browserNames = {
  aa: 'Avant Browser',
  an: 'Android Browser',
  ch: 'Chrome',
  ci: 'Chrome iOS',
  cm: 'Chrome Mobile',
  cr: 'Chromium',
  ff: 'Firefox',
  sf: 'Safari',
  mf: 'Mobile Safari',
  ps: 'Edge',
  oi: 'Edge iOS',
  om: 'Opera Mini',
  op: 'Opera',
  on: 'Opera Next',
} as const;

/** Credit card brands by code (`CreditCard` in the SDKs). */
export const cardNames = {
  amex: 'Amex',
  argencard: 'Argencard',
  cabal: 'Cabal',
  cencosud: 'Cencosud',
  diners: 'Diners',
  discover: 'Discover',
  elo: 'Elo',
  hipercard: 'Hipercard',
  jcb: 'JCB',
  mastercard: 'Mastercard',
  naranja: 'Naranja',
  'targeta-shopping': 'Shopping',
  unionpay: 'UnionPay',
  visa: 'Visa',
  mir: 'Mir',
  maestro: 'Maestro',
  rupay: 'RuPay',
} as const;

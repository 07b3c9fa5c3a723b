import { implement } from '#src/contract/operation.js';
import type { LoginMethod } from '../method/method.js';
import { serverTokenApi } from './api.js';

const provider = 'token';

/** The purpose of these tokens. */
export const serverTokenPurpose = 'server-token';

/** Login with a token that a server key created for a user. Its operation also redeems the secrets of all other methods. */
export const serverToken: LoginMethod = {
  provider,
  login: 'login.token',
  factor: 'token',
  alerts: false,
  secret: { purpose: serverTokenPurpose },
  operations: (_, { redeem }) => implement(serverTokenApi, { login: (call) => redeem(call, provider) }),
};

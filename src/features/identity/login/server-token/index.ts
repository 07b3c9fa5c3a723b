import { implement } from '#src/contract/operation.js';
import type { LoginMethod } from '../method.js';
import { serverTokenApi } from './api.js';

const provider = 'token';

/** What the tokens are issued for. */
export const serverTokenPurpose = 'server-token';

/** Login by a token that a server key has had made for a user. Its operation redeems the secrets of every other method too. */
export const serverToken: LoginMethod = {
  provider,
  login: 'login.token',
  factor: 'token',
  alerts: false,
  secret: { purpose: serverTokenPurpose },
  operations: (_, { redeem }) => implement(serverTokenApi, { login: (call) => redeem(call, provider) }),
};

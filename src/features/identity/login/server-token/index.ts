import { implement } from '#src/contract/operation.js';
import type { LoginMethod } from '../method.js';
import { serverTokenApi } from './api.js';

const provider = 'token';

/** Login by a token that a server key has had made for a user. Its operation redeems the secrets of every other method too. */
export const serverToken: LoginMethod = {
  provider,
  login: 'login.token',
  factor: 'token',
  alerts: false,
  secret: { purpose: 'server-token' },
  operations: (_, { redeem }) => implement(serverTokenApi, { login: (call) => redeem(call, provider) }),
};

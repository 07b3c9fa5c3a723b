export { createIdentities, type Identities, type Identity, type IdentityProof } from './service.js';
export { sealedTokens } from './store.js';
export { identityListShape, toIdentity } from './view.js';

export type { VerifiedAssertion } from './assertion.js';
export { type IdentityProviderMetadata, readMetadata } from './metadata.js';
export { makeOwnCertificate, type OwnCertificate } from './own-certificate.js';
export { type RefusalReason, SamlRefused } from './refused.js';
export {
  loginRequestFields,
  loginRequestUrl,
  type ServiceProvider,
  serviceProviderMetadata,
} from './service-provider.js';
export { createSamlVerifier, type SamlVerifier } from './verifier.js';

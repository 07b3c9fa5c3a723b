export {
  createProviders,
  invalidProvider,
  type OfferedProvider,
  type Provider,
  type ProviderConfig,
  type ProviderKind,
  type Providers,
} from './service.js';
export { sealedProviders } from './store.js';
export { createProbe, distinct, type Probe, type ProviderFinding } from './testing/findings.js';
export { toProvider } from './view.js';

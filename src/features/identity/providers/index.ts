export {
  createProviders,
  type Provider,
  type ProviderConfig,
  type ProviderKind,
  type Providers,
} from './service.js';
export { sealedProviders } from './store.js';
export { toProvider } from './view.js';

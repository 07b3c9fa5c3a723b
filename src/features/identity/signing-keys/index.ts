import { implement } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Runtime } from '#src/platform/index.js';
import type { Projects } from '../../installation/index.js';
import { signingKeysApi } from './api.js';
import { createKeySettling, createRotation } from './jobs.js';
import { createSigningKeys } from './service.js';
import { createSigningKeyStore } from './store.js';
import { toDiscovery, toJwks } from './view.js';

export type { SigningKeys } from './service.js';
export { sealedSecrets } from './store.js';
export type { SigningKeyStatus } from './view.js';

/** All claims of a token, in the order of the documentation. */
export const tokenClaims = [
  ...['iss', 'aud', 'sub', 'iat', 'exp', 'sid', 'jti', 'projectId', 'userId', 'sessionId'],
  ...['email', 'emailVerification', 'teams', 'roles', 'rolesTruncated', 'act'],
] as const;

/** The issuer of a project's tokens: a URL whose subpaths serve the documents. */
export function issuerOf({ baseUrl }: Pick<Runtime['config'], 'baseUrl'>, project: Project): string {
  return `${baseUrl.replace(/\/$/, '')}/projects/${project.id}`;
}

/** The keys that sign JWTs: rotation and the documents that publish them. */
export function createSigningKeysFeature(
  runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'sealing' | 'metrics' | 'config'>,
  projects: Projects,
) {
  const store = createSigningKeyStore(runtime.sql);
  const signingKeys = createSigningKeys(runtime, store);
  const keys = async ({ project }: { project: Project }) => toJwks(await signingKeys.published(project));
  const discovery = ({ project }: { project: Project }) => toDiscovery(issuerOf(runtime.config, project), tokenClaims);
  return {
    signingKeys,
    operations: implement(signingKeysApi, { keys, discovery, wellKnownKeys: keys, wellKnownDiscovery: discovery }),
    jobs: [createRotation(runtime, store, { projects, keys: signingKeys })],
    settle: createKeySettling(runtime, store),
  };
}

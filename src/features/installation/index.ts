// Public interface of the area `installation`: projects, limits, and messages to people.
import type { Runtime } from '#src/platform/index.js';
import { createCertificate } from './certificate/index.js';
import { createCourier, sealedMessages } from './courier/index.js';
import { createIdempotencyFeature } from './idempotency/index.js';
import { createLimits } from './limits/index.js';
import { createMasterKey } from './master-key/index.js';
import { createProjectsFeature } from './projects/index.js';
import { createServers } from './servers/index.js';

export type { Courier, MessageName, MessageVariables } from './courier/index.js';
export type { Idempotency } from './idempotency/index.js';
export { createJobsFeature } from './jobs/index.js';
export {
  accountExistsKey,
  invitedKey,
  keysOfUser,
  type Limits,
  proofKey,
  recoveryKey,
} from './limits/index.js';
export type { MasterKeys } from './master-key/index.js';
export type { Projects, ServerKeys } from './projects/index.js';

/** Columns of this area with sealed values. */
export const sealedInInstallation = Object.values(sealedMessages);

/** Builds the services that all projects depend on. `createJobsFeature` builds the jobs last. */
export function createInstallation(runtime: Runtime) {
  const limits = createLimits(runtime);
  const masterKey = createMasterKey(runtime);
  const { projects, serverKeys, operations, rebinding } = createProjectsFeature(runtime, masterKey);
  const courier = createCourier(runtime, projects);
  const { idempotency, jobs } = createIdempotencyFeature(runtime);
  const certificate = createCertificate(runtime);
  const servers = createServers(runtime, limits.memory);
  return {
    limits,
    masterKey,
    projects,
    serverKeys,
    courier,
    idempotency,
    certificate,
    servers,
    operations,
    rebinding,
    jobs: [projects.removalJob, ...limits.jobs, ...courier.jobs, ...jobs, ...certificate.jobs],
    settles: [limits.settle, courier.settle],
  };
}

/** The services of this area. Other areas depend on them. */
export type Installation = ReturnType<typeof createInstallation>;

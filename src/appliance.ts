import type { Project } from '#src/contract/project.js';
import { createFeatures, type Features } from '#src/features/index.js';
import type { Listener } from '#src/http/server.js';
import type { Config } from '#src/platform/config/schema.js';
import { createRuntime, type Replacements, type Runtime } from '#src/platform/index.js';
import { lazy } from '#src/platform/runtime/lazy.js';

/** The whole service with all its parts, as used by the command line and the tests. */
export interface Appliance {
  readonly runtime: Runtime;
  readonly features: Features;
  /**
   * Listens, then starts the workers and the jobs. If the configured port is 0, `port` is the assigned one. `socket` is the descriptor of a
   * listening socket, which is used instead.
   */
  serve(socket?: number): Promise<Listener>;
  /** The OpenAPI document of a project, including its collections. */
  describe(project: Project): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

/** Builds the service from its configuration. Throws DatabaseError if the database cannot be reached. */
export async function createAppliance(config: Config, replacements: Replacements = {}): Promise<Appliance> {
  const runtime = await createRuntime(config, replacements);
  const features = createFeatures(runtime);
  // Loaded on demand, because most commands serve no requests.
  const http = lazy(async () => {
    const { createApp, describeApi, listen, withCollections } = await import('#src/http/index.js');
    return { ...createApp(runtime, features), describeApi, listen, withCollections };
  });
  const stopAll = () => [features.jobs.stop(), ...features.workers.map((worker) => worker.stop())];
  return {
    runtime,
    features,
    describe: async (project) => {
      const { state, describeApi, withCollections } = await http.get();
      const collections = await features.databases.describedCollections(runtime.db, project.id);
      return withCollections(describeApi(state.operations, project, config), collections ?? []);
    },
    serve: async (socket) => {
      const { app, state, upgrade, listen } = await http.get();
      features.certificate.begin();
      const listener = await listen(app.callback(), config, { newId: () => runtime.random.id(), upgrade, socket });
      for (const worker of features.workers) worker.start();
      await features.jobs.start();
      await features.servers.begin();
      return {
        port: listener.port,
        renewCertificate: listener.renewCertificate,
        announceEnd: () => {
          state.isReady = false;
          listener.announceEnd();
        },
        drain: async () => {
          state.isReady = false;
          state.draining = true;
          features.streams.stop();
          await Promise.all([listener.drain(), ...stopAll()]);
          await features.servers.end();
        },
      };
    },
    close: async () => {
      features.streams.stop();
      features.masterKey.stop();
      await Promise.all([...stopAll(), features.servers.end()]);
      await runtime.close();
    },
  };
}

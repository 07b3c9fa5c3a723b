import type { Project } from '#src/contract/project.js';
import { createFeatures, type Features } from '#src/features/index.js';
import type { Listener } from '#src/http/server.js';
import type { Config } from '#src/platform/config/schema.js';
import { createRuntime, type Replacements, type Runtime } from '#src/platform/index.js';
import { lazy } from '#src/platform/lazy.js';

/** The whole service, wired: what the command line and the tests hold. */
export interface Appliance {
  readonly runtime: Runtime;
  readonly features: Features;
  /** Listens, then runs the jobs; the port is the one in use where the configured one is 0. */
  serve(): Promise<Listener>;
  /** The OpenAPI document of a project with its collections. */
  describe(project: Project): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

/** Builds everything from the configuration. Throws DatabaseError where the database cannot be reached. */
export async function createAppliance(config: Config, replacements: Replacements = {}): Promise<Appliance> {
  const runtime = await createRuntime(config, replacements);
  const features = createFeatures(runtime);
  // Most commands answer no requests.
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
    serve: async () => {
      const { app, state, upgrade, listen } = await http.get();
      features.certificate.begin();
      const listener = await listen(app.callback(), config, { newId: () => runtime.random.id(), upgrade });
      for (const worker of features.workers) worker.start();
      await features.jobs.start();
      return {
        port: listener.port,
        drain: async () => {
          state.draining = true;
          features.streams.stop();
          await Promise.all([listener.drain(), ...stopAll()]);
        },
      };
    },
    close: async () => {
      features.streams.stop();
      await Promise.all(stopAll());
      await runtime.close();
    },
  };
}

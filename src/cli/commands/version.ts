import { version } from '#src/platform/version.js';
import { command } from '../command.js';

/** `svc version` */
export const versionCommand = command({
  path: 'version',
  summary: 'Prints the version of svc and of Node.js',
  examples: ['svc version', 'svc version --json'],
  needs: 'nothing',
  run: async () => ({
    value: { version: version(), node: process.versions.node },
    text: `svc ${version()} (Node.js ${process.versions.node})`,
  }),
});

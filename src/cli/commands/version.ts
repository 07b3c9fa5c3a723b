import { origin, version } from '#src/platform/version.js';
import { command } from '../command.js';

/** `svc version` */
export const versionCommand = command({
  path: 'version',
  summary: 'Prints the version of svc and of Node.js, the commit that was built, and the archive of a release',
  examples: ['svc version', 'svc version --json'],
  needs: 'nothing',
  run: async () => {
    const { archive, commit = null } = origin();
    const { node } = process.versions;
    const known = [`Node.js ${node}`, ...(archive ? [archive] : []), ...(commit ? [`commit ${commit}`] : [])];
    return {
      value: { version: version(), node, ...(archive ? { archive } : {}), commit },
      text: `svc ${version()} (${known.join(', ')})`,
    };
  },
});

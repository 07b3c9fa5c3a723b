import { origin, version } from '#src/platform/runtime/version.js';
import { command } from '../line/command.js';

/** `svc version` */
export const versionCommand = command({
  path: 'version',
  summary: 'Prints the versions of svc and Node.js and, if known, the commit and the release archive of this build',
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

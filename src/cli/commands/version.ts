import { release, version } from '#src/platform/version.js';
import { command } from '../command.js';

/** `svc version` */
export const versionCommand = command({
  path: 'version',
  summary: 'Prints the version of svc and of Node.js, and the archive and commit of a release',
  examples: ['svc version', 'svc version --json'],
  needs: 'nothing',
  run: async () => {
    const packed = release();
    const { node } = process.versions;
    const origin = packed && [packed.archive, ...(packed.commit === null ? [] : [`commit ${packed.commit}`])];
    return {
      value: { version: version(), node, ...packed },
      text: `svc ${version()} (${[`Node.js ${node}`, ...(origin ?? [])].join(', ')})`,
    };
  },
});

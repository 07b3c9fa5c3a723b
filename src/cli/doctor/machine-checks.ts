import { existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseFilesUrl } from '#src/platform/config/files-url.js';
import type { LoadedConfig } from '#src/platform/config/load.js';
import type { Config } from '#src/platform/config/schema.js';
import { parseDatabaseUrl } from '#src/platform/db/index.js';
import { isAbsent } from '#src/platform/runtime/files.js';
import { otherPort } from '../installation/ports.js';
import { dataDirectoryProblems, logFileProblems } from '../installation/settings-problems.js';
import { listenerOn } from '../serving/port-listener.js';
import { memoryProblem, nodeUnsupportedSince } from '../serving/start-report.js';
import { shellWord } from '../terminal/exit.js';
import type { Check } from './check.js';
import { type DoctorFinding, found } from './finding.js';
import { everybody } from './settings-checks.js';

const mebibyte = 1024 * 1024;
/** Below this, databases may fail at any time. */
const fullBytes = 100 * mebibyte;
/** A disk is nearly full if it is below both bounds: a tenth of a large disk is still plenty. */
const scarce = { bytes: 5 * 1024 * mebibyte, part: 0.1 };

/** Checks the version of Node.js. Needs no settings. */
export const nodeCheck: Check<unknown> = {
  name: 'Node.js',
  run: () => {
    const since = nodeUnsupportedSince(Date.now());
    if (since === undefined) return [];
    const message = `Node.js ${process.versions.node} has had no security fixes since ${since}.`;
    return [found('node_end_of_life', message, 'install a supported version from https://nodejs.org/en/download')];
  },
};

/** Checks the memory that a process may use. Needs no settings. */
export const memoryCheck: Check<unknown> = {
  name: 'memory',
  run: () => {
    const problem = memoryProblem();
    return problem === undefined ? [] : [found('memory_limit', problem.message, problem.fix)];
  },
};

/** Checks of the service's environment on this machine. */
export const machineChecks: readonly Check<LoadedConfig>[] = [
  { name: 'the data directory', run: ({ config }) => dataDirectory(resolve(config.dataDir)) },
  {
    name: 'the database file',
    run: ({ config }) => {
      const file = fileOf(config);
      // A file that this user cannot access is reported by the check of the directory.
      if (file === null || !existsSync(file) || (statSync(file).mode & everybody) === 0) return [];
      const message = `Everybody on this machine can use ${file}, the database.`;
      return [found('database_file_readable', message, `chmod o-rwx ${shellWord(file)}`)];
    },
  },
  {
    name: 'the log file',
    run: ({ config }) =>
      logFileProblems(config).map(({ message, fix }) => found('log_file_unusable', `${message}.`, fix)),
  },
  { name: 'room on the disk', run: ({ config }) => disks(config) },
  { name: 'the port', run: port },
];

function dataDirectory(directory: string): DoctorFinding[] {
  const word = shellWord(directory);
  if (isAbsent(directory)) {
    const message = `The data directory ${directory} does not exist.`;
    return [found('data_directory_missing', message, `correct SVC_DATA_DIR, or make it: mkdir -p -m 0700 ${word}`)];
  }
  const [problem] = dataDirectoryProblems({ dataDir: directory });
  if (problem !== undefined) {
    const fix = 'correct SVC_DATA_DIR, or run the command as the owner of the directory';
    return [found('data_directory_unusable', `${problem}.`, fix)];
  }
  if ((statSync(directory).mode & everybody) === 0) return [];
  return [found('data_directory_readable', `Everybody on this machine can use ${directory}.`, `chmod o-rwx ${word}`)];
}

function fileOf({ databaseUrl }: Config): string | null {
  const { file } = parseDatabaseUrl(databaseUrl.reveal());
  return file === null ? null : resolve(file);
}

/** Checks the free space of each disk with data of the service, once per disk. */
function disks(config: Config): DoctorFinding[] {
  const file = fileOf(config);
  const location = config.filesUrl && parseFilesUrl(config.filesUrl.reveal());
  const directories = [config.dataDir, ...(file === null ? [] : [dirname(file)])];
  if (location?.kind === 'disk') directories.push(location.directory);
  const byDevice = new Map<number, string>();
  for (const directory of directories.map((one) => resolve(one)).filter((one) => existsSync(one))) {
    const { dev } = statSync(directory);
    if (!byDevice.has(dev)) byDevice.set(dev, directory);
  }
  return [...byDevice.values()].flatMap((directory) => {
    const { bavail, blocks, bsize } = statfsSync(directory);
    return roomOn(directory, bavail * bsize, blocks * bsize);
  });
}

/** Findings for a disk with this many free bytes. */
export function roomOn(directory: string, free: number, total: number): DoctorFinding[] {
  const fix = `make room on the disk of ${directory}`;
  const message = `The disk of ${directory} has ${Math.floor(free / mebibyte)} MiB left.`;
  if (free < fullBytes) return [found('disk_full', message, fix)];
  return free < scarce.bytes && free < scarce.part * total ? [found('disk_nearly_full', message, fix)] : [];
}

/** Reports only other programs on the port, neither a running server nor an unused port. */
async function port(loaded: LoadedConfig): Promise<DoctorFinding[]> {
  const { config } = loaded;
  if (config.port === 0 || (await listenerOn(config)) !== 'other') return [];
  const message = `Another program than svc listens on ${config.host} port ${config.port}.`;
  return [found('port_taken', message, await otherPort(loaded))];
}

import { realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Appliance } from '#src/appliance.js';
import { followMs, type RotatedMasterKey, runningServers, type ServerRow } from '#src/features/index.js';
import type { LoadedConfig } from '#src/platform/config/load.js';
import { MasterKey, type MasterKeyFile } from '#src/platform/config/master-key.js';
import { readMasterKey } from '#src/platform/config/master-key-file.js';
import { checkOf, fingerprintOf } from '#src/platform/crypto/key-ring.js';
import { databaseName } from '../installation/database-url.js';
import {
  forgetFormerKey,
  lockKeyFile,
  newKeyIn,
  replaceKey,
  requireReplaceable,
} from '../installation/master-key-change.js';
import { operatorContext, requireMasterKey, requireUsableSchema, withAppliance } from '../installation/run-command.js';
import { type CommandCall, type CommandResult, command } from '../line/command.js';
import { requireNoServer } from '../serving/running-servers.js';
import { count } from '../terminal/count.js';
import { conflictError, exitCodes, usageError } from '../terminal/exit.js';
import { createProgress } from '../terminal/progress.js';

/** `svc keys rotate-master` */
export const rotateMasterCommand = command({
  path: 'keys rotate-master',
  summary:
    'Replaces the master key and wraps every key of the installation with the new one. A running server goes on. Run it again if it was interrupted',
  options: [
    {
      flag: '--new-key-file',
      value: 'FILE',
      summary: 'file that holds the new key; required if the key is in the environment (default: a random key)',
    },
    { flag: '--dry-run', summary: 'count the keys that would be wrapped again, and change nothing; exit code 5' },
    { flag: '--confirm', value: 'NAME', summary: 'name of the database, to confirm without a prompt' },
  ],
  examples: ['svc keys rotate-master --dry-run', 'svc keys rotate-master --dry-run --json'],
  needs: 'config',
  run: async (call) => {
    const { args, loaded } = call;
    const file = loaded.config.masterKey?.file;
    const path = args.text('--new-key-file');
    const given = path === undefined ? undefined : newKeyIn(path);
    if (file === undefined && given === undefined)
      throw usageError(
        'The master key is in the environment, so this command cannot replace it there.',
        'give the new key by --new-key-file FILE, and set it in the environment afterwards',
      );
    return withAppliance(loaded, call, async (appliance) => {
      requireUsableSchema(await appliance.runtime.migrator.status());
      if (args.isSet('--dry-run')) return dryRun(appliance);
      if (file === undefined) return rotateInEnvironment(call, appliance, given as MasterKey);
      requireReplaceable(file);
      return rotateInFile(call, appliance, file, given);
    });
  },
});

type RotationCall = CommandCall & { readonly loaded: LoadedConfig };

async function dryRun(appliance: Appliance): Promise<CommandResult> {
  await requireMasterKey(appliance);
  const { runtime, features } = appliance;
  const keys = await features.masterKey.count(runtime.db);
  const from = fingerprintOf(runtime.sealing.keyCheck());
  return {
    value: { from, keys },
    text: `The master key with the fingerprint ${from} wraps ${count(keys, 'key')}. Nothing was changed.`,
    exitCode: exitCodes.conflict,
  };
}

/** The operator puts the new key into the environment afterwards, so no server may run. */
async function rotateInEnvironment(call: RotationCall, appliance: Appliance, key: MasterKey): Promise<CommandResult> {
  const next = 'set SVC_MASTER_KEY to the new key, then start the server';
  const { runtime, features } = appliance;
  if (await features.masterKey.isCurrent(runtime.db, key.bytes)) return { ...done(key), next };
  await requireMasterKey(appliance);
  await requireNoServer(appliance.runtime, 'it has the master key in its environment.');
  await confirm(call);
  const rotated = await rotate(call, appliance, key);
  await features.masterKey.finish(operatorContext(appliance, null));
  return { ...resultOf(rotated), next };
}

/**
 * Replaces the key in its file first, so that running servers find it there, then in the database. A copy of the file keeps the old key
 * until the end: whatever was reached when the process was killed, one of both keys fits the database.
 */
async function rotateInFile(
  call: RotationCall,
  appliance: Appliance,
  file: MasterKeyFile,
  given: MasterKey | undefined,
): Promise<CommandResult> {
  const { runtime, features } = appliance;
  await requireMasterKey(appliance);
  const inFile = readMasterKey(file);
  const isInForce = inFile !== undefined && (await features.masterKey.isCurrent(runtime.db, inFile.bytes));
  if (inFile !== undefined && isInForce && (await features.masterKey.isUnfinished(runtime.db))) {
    await locked(file, inFile, () => finish(appliance, file));
    return done(inFile);
  }
  const begun = isInForce ? undefined : inFile;
  if (begun !== undefined && given !== undefined && !given.bytes.equals(begun.bytes))
    throw conflictError(
      'rotation_unfinished',
      'A rotation to another key was interrupted.',
      'run the command without --new-key-file to complete it',
    );
  const target = begun ?? given ?? new MasterKey(runtime.random.bytes(32).toString('base64url'));
  if (await features.masterKey.isCurrent(runtime.db, target.bytes)) return done(target);
  await requireNoServer(
    appliance.runtime,
    'it cannot read the new key from the file of this machine.',
    cannotRead(file),
  );
  if (begun === undefined) await confirm(call);
  const rotated = await locked(file, inFile, async () => {
    if (begun === undefined) replaceKey(file, target);
    else call.output.note('Completing the rotation that was interrupted.');
    const result = await rotate(call, appliance, target);
    // Every server must know this key before the next rotation.
    if ((await runningServers(runtime)).length > 0) await sleep(followMs * 1.25);
    await finish(appliance, file);
    return result;
  });
  return {
    ...resultOf(rotated),
    next: `svc backup create, then copy ${file.path} to a safe place. Earlier backups need the key with the fingerprint ${rotated.from}: keep its copy with them`,
  };
}

/** Runs the body while no other process may replace the key. Throws CommandError if one does, or has replaced the key that was read. Exit 5. */
async function locked<T>(file: MasterKeyFile, inFile: MasterKey | undefined, body: () => Promise<T>): Promise<T> {
  const unlock = lockKeyFile(file);
  try {
    if (readMasterKey(file)?.reveal() !== inFile?.reveal())
      throw conflictError(
        'rotation_running',
        'Another process has replaced the master key meanwhile.',
        'run this command again to replace it once more',
      );
    return await body();
  } finally {
    unlock();
  }
}

async function finish(appliance: Appliance, file: MasterKeyFile): Promise<void> {
  forgetFormerKey(file);
  await appliance.features.masterKey.finish(operatorContext(appliance, null));
}

/** Servers of another machine have another file, even if its path is the same. */
function cannotRead({ path }: MasterKeyFile): (server: ServerRow) => boolean {
  const real = (one: string) => {
    try {
      return realpathSync(one);
    } catch {
      return one;
    }
  };
  return ({ host, keyFile }) => host !== hostname() || keyFile === null || real(keyFile) !== real(path);
}

async function confirm({ args, loaded, prompts }: RotationCall): Promise<void> {
  const name = databaseName(loaded.config.databaseUrl.reveal());
  const question = `This replaces the master key of the database ${name}. Backups made before need the old key: keep a copy of it.`;
  await prompts.confirmByName(question, [name], args.text('--confirm'));
}

async function rotate({ output }: RotationCall, appliance: Appliance, key: MasterKey): Promise<RotatedMasterKey> {
  const { features } = appliance;
  const progress = createProgress(output);
  const by = operatorContext(appliance, null);
  output.note('Wrapping every key with the new master key …');
  const rotated = await features.masterKey.rotate(by, key.bytes, (keys) => progress.show(`${keys} keys`));
  progress.clear();
  return rotated;
}

function resultOf({ from, to, keys }: RotatedMasterKey) {
  return {
    value: { from, to, keys },
    text: `The master key with the fingerprint ${to} has replaced ${from}: ${count(keys, 'key')} wrapped again.`,
  };
}

function done(key: MasterKey) {
  const to = fingerprintOf(checkOf(key.bytes));
  return { value: { to, keys: 0 }, text: `The database has the master key with the fingerprint ${to} already.` };
}

import { readSmall } from '../runtime/files.js';
import { parseEnvFile } from './env-file.js';
import { MasterKey, type MasterKeyFile } from './master-key.js';
import { settings } from './schema.js';

const largestFile = 1_048_576;

/** The copy with the old key that a rotation keeps until it has ended. */
export function copyOf({ path, form }: MasterKeyFile): MasterKeyFile {
  return { path: `${path}.old`, form };
}

/** The valid master key in a file; undefined if there is none. */
export function readMasterKey(file: MasterKeyFile): MasterKey | undefined {
  let text: string;
  try {
    text = readSmall(file.path, largestFile).toString('utf8');
  } catch {
    return undefined;
  }
  const { key, schema } = settings.masterKey;
  const parsed = schema.safeParse(file.form === 'value' ? text.trim() : parseEnvFile(text, []).values[key]);
  return parsed.success ? new MasterKey(parsed.data.reveal(), file) : undefined;
}

/** The keys that a file and its copy hold now. */
export function readMasterKeys(file: MasterKeyFile): Buffer[] {
  return [file, copyOf(file)].flatMap((one) => readMasterKey(one)?.bytes ?? []);
}

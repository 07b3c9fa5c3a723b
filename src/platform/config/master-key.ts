import { Secret } from './secret.js';

/** The file that holds the master key: the settings, or one that holds the value alone. */
export interface MasterKeyFile {
  readonly path: string;
  readonly form: 'settings' | 'value';
}

/** The master key. */
export class MasterKey extends Secret {
  /** Its file; undefined if it is in the environment. */
  readonly file: MasterKeyFile | undefined;

  constructor(value: string, file?: MasterKeyFile) {
    super(value);
    this.file = file;
  }

  get bytes(): Buffer {
    return Buffer.from(this.reveal(), 'base64url');
  }
}

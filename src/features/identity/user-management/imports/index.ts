import type { ServerKey } from '#src/contract/actor.js';
import { auditContextOf, implement } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { ForeignHash } from '#src/platform/crypto/foreign-hashes/hash.js';
import { importedOf } from '../../users/index.js';
import { type ManagementDeps, printing } from '../model/keys.js';
import { importsApi } from './api.js';

interface ImportCall {
  readonly project: Project;
  readonly actor: ServerKey;
  readonly request: { readonly id: string };
  readonly body: Parameters<typeof importedOf>[0] & {
    readonly userId: string;
    readonly email: string;
    readonly name: string;
    readonly password: string;
  };
}

/** Creates the operations that import users from other products with their password hashes. */
export function createImports(deps: ManagementDeps) {
  const shown = printing(deps);
  const take = async (call: ImportCall, hash: ForeignHash) => {
    const { project, body } = call;
    const { userId: id, email, name } = body;
    const input = { id, email, name, hash, imported: importedOf(body) };
    return shown(project, await deps.userChanges.importUser(auditContextOf(call), project, input));
  };
  return implement(importsApi, {
    bcrypt: (call) => take(call, { algorithm: 'bcrypt', hash: call.body.password }),
    argon2: (call) => take(call, { algorithm: 'argon2', hash: call.body.password }),
    md5: (call) => take(call, { algorithm: 'md5', hash: call.body.password }),
    phpass: (call) => take(call, { algorithm: 'phpass', hash: call.body.password }),
    sha: (call) =>
      take(call, { algorithm: 'sha', hash: call.body.password, version: call.body.passwordVersion ?? 'sha256' }),
    scrypt: (call) => {
      const { password: hash, passwordSalt: salt, passwordCpu: cpu, passwordMemory: memory } = call.body;
      const { passwordParallel: parallel, passwordLength: length } = call.body;
      return take(call, { algorithm: 'scrypt', hash, salt, cpu, memory, parallel, length });
    },
    scryptModified: (call) => {
      const { password: hash, passwordSalt: salt, passwordSaltSeparator: saltSeparator } = call.body;
      const { passwordSignerKey: signerKey } = call.body;
      return take(call, { algorithm: 'scrypt-modified', hash, salt, saltSeparator, signerKey });
    },
  });
}

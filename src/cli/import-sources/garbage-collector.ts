import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Returns the garbage collector of V8, which no flag has to expose when the process starts. Without calls, V8 lets garbage of an import grow
 * to more than 100 MiB.
 */
export function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

import type { Operation } from '#src/contract/operation.js';
import type { Runtime } from '#src/platform/index.js';
import type { LoginDeps, LoginMethod } from './method/method.js';
import { createRedemption } from './redemption.js';

/** Builds the operations of all login methods. */
export function createLogins(
  runtime: Runtime,
  deps: LoginDeps,
  methods: readonly LoginMethod[],
): { readonly operations: readonly Operation[] } {
  const toolkit = { ...deps, redeem: createRedemption(runtime, deps, methods) };
  return { operations: methods.flatMap((method) => method.operations(runtime, toolkit)) };
}

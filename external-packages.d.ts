import type { BuildOptions } from 'esbuild';

export declare const externalPackages: readonly string[];
export declare const knexBundle: BuildOptions;

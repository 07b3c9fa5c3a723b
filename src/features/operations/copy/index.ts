export { CopyError, copyDatabase, copyState } from './copy.js';
export { digestDatabase, type TableDigest } from './digest.js';

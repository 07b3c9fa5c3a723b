import { totalmem } from 'node:os';
import { constrainedMemory } from 'node:process';
import { getHeapStatistics } from 'node:v8';

const mebibyte = 1024 * 1024;
/** With this much memory, caches and budgets have their full size. */
const ample = 1024 * mebibyte;
/** Below this, large responses and images can end the process. */
export const leastMemory = 280 * mebibyte;
/** The smallest part of their full size that caches and budgets get. */
const leastShare = 0.1;

/** Memory that this process may use, and the source of the number. */
interface MemoryLimit {
  readonly bytes: number;
  readonly source: 'machine' | 'cgroup' | 'heap';
}

/**
 * The smallest of the machine's memory, the limit of the cgroup (version 1 or 2), and the memory that the heap limit of Node.js corresponds
 * to: by default Node.js gives the heap half of a small limit.
 */
export function memoryLimit(
  machineBytes = totalmem(),
  cgroupBytes: number = constrainedMemory(),
  heapBytes = getHeapStatistics().heap_size_limit,
): MemoryLimit {
  const limits: MemoryLimit[] = [
    { bytes: machineBytes, source: 'machine' },
    { bytes: 2 * heapBytes, source: 'heap' },
  ];
  // 0 and numbers beyond the memory of the machine mean that there is no limit.
  if (cgroupBytes > 0 && cgroupBytes < machineBytes) limits.unshift({ bytes: cgroupBytes, source: 'cgroup' });
  return limits.reduce((least, one) => (one.bytes < least.bytes ? one : least));
}

/** The limit of the cgroup of this process, such as a container or a unit of systemd, else the memory of the machine. */
export function memoryOfSystem(): number {
  const limit = constrainedMemory();
  return limit > 0 && limit < totalmem() ? limit : totalmem();
}

/** The part of their full size that caches and budgets have with this much memory. */
export function shareOf(bytes: number): number {
  return Math.min(1, Math.max(leastShare, bytes / ample));
}

/** The part of their full size that caches and budgets of this process have. */
export const memoryShare = shareOf(memoryLimit().bytes);

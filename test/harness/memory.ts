// The memory of processes, as Linux tells it.
import { readFileSync } from 'node:fs';

/** What a process has now. */
export function residentBytes(pid: number): number {
  return bytesOf(pid, 'VmRSS');
}

/** The most that a process has had. */
export function highestBytes(pid: number): number {
  return bytesOf(pid, 'VmHWM');
}

/** 0 where there is no such process any more. */
function bytesOf(pid: number, name: string): number {
  try {
    const [, kibibytes] =
      new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
    return Number(kibibytes ?? 0) * 1024;
  } catch {
    return 0;
  }
}
